package terminal

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/ansi"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/internal/receiving"
)

// Endpoint is the name of the terminal's endpoint. An operator can't give the name of Endpoint to a platform, because
// the section streaming of the configuration uses the name as the key of the terminal's settings.
const Endpoint chat.EndpointID = "cli"

// operator is the user id of the person at a terminal. The person at a terminal is anybody who may start the program or
// connect to the daemon's socket.
const operator chat.UserID = "operator"

// HubOptions configures a Hub.
type HubOptions struct {
	Cursor string // clients show this text at the end of a growing message
	// History returns the last messages of a session, oldest first. If History is nil, clients show no earlier
	// messages.
	History func(ctx context.Context, session string) ([]Line, error)
	Model   string // name of the model, which clients show; empty: clients show no name
	// Config is the path of the configuration file. The hub sends Config to clients.
	Config string
	// Commands are the names of the chat commands. Clients complete a name in Commands when the person presses Tab.
	Commands []string
	Log      *slog.Logger
}

// Hub implements gateway.Platform for terminals: it receives input from attached clients, and sends answers to these
// clients. The daemon calls Serve with the connection of each client.
type Hub struct {
	options  atomic.Pointer[HubOptions]
	opened   chan struct{} // closed when the method Run has begun
	open     func()        // closes opened
	waitOver chan struct{} // closed when the wait for clients of an earlier process is over
	endWait  func()        // closes waitOver

	mu      sync.Mutex
	accept  func(context.Context, chat.Inbound) error // the accept function of the running call of Run; otherwise nil
	clients map[chat.ChatID]*attachedClient
	arrived map[chat.ChatID]chan struct{} // each channel is closed when a client has been attached to the session
}

// attachedClient is a client that is attached to a session.
type attachedClient struct {
	out     *outbox
	name    string // empty: the client has no name
	dialect Dialect
	inputs  map[chat.MessageID]string // ids that the client gave to its unanswered inputs
	files   map[chat.MessageID][]File // files of the client's unanswered inputs
}

// NewHub returns a hub without clients.
func NewHub(o HubOptions) *Hub {
	h := &Hub{
		opened: make(chan struct{}), waitOver: make(chan struct{}),
		clients: make(map[chat.ChatID]*attachedClient), arrived: make(map[chat.ChatID]chan struct{}),
	}
	h.Reload(o)
	h.open = sync.OnceFunc(func() { close(h.opened) })
	h.endWait = sync.OnceFunc(func() { close(h.waitOver) })
	return h
}

// Reload replaces the options for clients that attach later.
func (h *Hub) Reload(o HubOptions) { h.options.Store(&o) }

// Capabilities implements gateway.Platform.
func (h *Hub) Capabilities() chat.Capabilities {
	return chat.Capabilities{Edit: true, Delete: true, Typing: true, Concludes: true, Fetch: true}
}

// Profile implements gateway.Platform.
func (h *Hub) Profile(chat.Target) chat.Profile {
	return chat.Profile{TextLimit: textLimit, EditInterval: editInterval, TypingEvery: typingFor, KeyFor: keyFor}
}

// Dialect implements gateway.Platform. Dialect returns the dialect of the attached client. If no client is attached to
// the session, Dialect returns the most common dialect, because a client that reconnects later probably has this
// dialect.
func (h *Hub) Dialect(to chat.Target) markup.Dialect {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.clients[to.Chat]; c != nil {
		return c.dialect
	}
	return Dialect{Colour: true}
}

// Run implements gateway.Platform. While Run runs, the hub passes the inputs of clients to the function accept. Run
// needs no resume cursor, because clients repeat inputs that accept has not accepted.
func (h *Hub) Run(ctx context.Context, _ chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	h.mu.Lock()
	h.accept = accept
	h.mu.Unlock()
	h.open()
	defer time.AfterFunc(returnsIn, h.endWait).Stop() //nolint:forbidigo // stop the wait when clients have had time to reconnect.
	defer h.endWait()
	<-ctx.Done()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.accept = nil
	return ctx.Err()
}

// Send implements gateway.Platform.
func (h *Hub) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	if err := h.await(ctx, to); err != nil {
		return chat.Receipt{}, err
	}
	ref := chat.MessageRef{Target: to, ID: chat.MessageID(cmp.Or(m.Key, rand.Text()))}
	return chat.Receipt{Ref: ref}, h.show(ref, m)
}

// Edit implements preview.Editor. Edit can also edit a message that an earlier process sent.
func (h *Hub) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	if err := h.await(ctx, ref.Target); err != nil {
		return chat.Receipt{}, err
	}
	return chat.Receipt{Ref: ref}, h.show(ref, m)
}

// await waits for a client of an earlier process to reconnect to a session. await returns immediately if a client of
// the session has already attached to this process, or if this process has received input for longer than returnsIn.
func (h *Hub) await(ctx context.Context, to chat.Target) error {
	h.mu.Lock()
	came := h.arrival(to.Chat)
	h.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-came:
	case <-h.waitOver:
	}
	if err := ctx.Err(); err != nil {
		return &chat.SendError{Kind: chat.Temporary, Err: err}
	}
	return nil
}

// arrival returns a channel that is closed when a client has been attached to a session, or when the wait for old
// clients is over. The caller of arrival must hold mu.
func (h *Hub) arrival(session chat.ChatID) chan struct{} {
	select {
	case <-h.waitOver:
		return h.waitOver
	default:
	}
	if h.arrived[session] == nil {
		h.arrived[session] = make(chan struct{})
	}
	return h.arrived[session]
}

// show sends the newest state of a message to the client that is attached to the session. If no client is attached to
// the session, show does nothing.
func (h *Hub) show(ref chat.MessageRef, m chat.Outgoing) error {
	shown := Message{ID: string(ref.ID), Text: m.Text, Source: m.Source, Note: m.Note, Live: m.Preview}
	cursor := h.options.Load().Cursor
	if text, ok := strings.CutSuffix(m.Text, cursor); ok && m.Preview {
		shown.Text, shown.Cursor = text, cursor
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.clients[ref.Target.Chat]
	dialect := Dialect{}
	if c != nil {
		dialect = c.dialect
	}
	if n := dialect.Len(markup.Rendered{Text: m.Text}); n > textLimit {
		return &chat.SendError{Kind: chat.TooLong, Err: fmt.Errorf("a message of %d cells", n)}
	}
	if c == nil {
		return nil
	}
	if !dialect.Colour {
		shown.Text = ansi.Strip(shown.Text) // the text may have been rendered with another dialect, before this client attached
	}
	shown.Answer = c.inputs[m.ReplyTo]
	if len(shown.Text)+len(shown.Source) > maxFrame/8 { // the JSON encoding of a shorter message always fits into a frame
		if _, err := encodeFrame(Frame{Message: &shown}); err != nil {
			return &chat.SendError{Kind: chat.TooLong, Err: err}
		}
	}
	c.out.put(Frame{Message: &shown})
	return nil
}

// Delete implements preview.Deleter.
func (h *Hub) Delete(ctx context.Context, ref chat.MessageRef) error {
	if err := h.await(ctx, ref.Target); err != nil {
		return err
	}
	return h.tell(ctx, ref.Target, Frame{Deleted: &Deleted{ID: string(ref.ID)}})
}

// Typing implements preview.Typer.
func (h *Hub) Typing(ctx context.Context, to chat.Target) error {
	return h.tell(ctx, to, Frame{Typing: &Typing{}})
}

func (h *Hub) tell(ctx context.Context, to chat.Target, f Frame) error {
	if err := ctx.Err(); err != nil {
		return &chat.SendError{Kind: chat.Temporary, Err: err}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.clients[to.Chat]; c != nil {
		c.out.put(f)
	}
	return nil
}

// Concluded implements gateway.Concluder.
func (h *Hub) Concluded(to chat.Target, messages []chat.MessageID, failed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.clients[to.Chat]
	for _, id := range messages {
		if c != nil {
			delete(c.files, id)
		}
		if c == nil || c.inputs[id] == "" { // the client that sent the input has disconnected
			continue
		}
		c.out.put(Frame{Done: &Done{Input: c.inputs[id], Failed: failed}})
		delete(c.inputs, id)
	}
}

var sessionName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// CheckSession returns an error if the name can't be the name of a session.
func CheckSession(name string) error {
	if !sessionName.MatchString(name) {
		return fmt.Errorf("%q is not a session name: 1 to 64 of the characters a-z, A-Z, 0-9, dot, _ and -", name)
	}
	return nil
}

// The errors in this block are the reasons for which the hub refuses an input. The person at the terminal sees the text
// of the error.
var (
	errInputTooLong = fmt.Errorf("it is longer than the %d characters that a message may have", MaxInput)
	errFiles        = fmt.Errorf("a message may have %d files of %d MB together, and telex keeps %d MB of a terminal's files", maxAttached, MaxFiles>>20, maxHeld>>20)
	errNoInput      = errors.New("it is empty")
	errNotReceiving = errors.New("telex accepts nothing at the moment: it is stopping, or it can't reach its database")
)

// The method take passes a client's input to the gateway, and returns when the gateway has stored the input.
func (h *Hub) take(ctx context.Context, session chat.ChatID, c *attachedClient, in Input) error {
	text := strings.TrimSpace(in.Text)
	switch {
	case len(text) > MaxInput:
		return errInputTooLong
	case text == "" && len(in.Files) == 0:
		return errNoInput
	}
	m := chat.Inbound{
		To: chat.Target{Chat: session}, Sender: chat.Sender{ID: operator, Name: "terminal"},
		ID: chat.MessageID(rand.Text()), Text: text, Addressed: true, Reply: true,
		Unattended: in.Last,
	}
	if in.Piped {
		m.Origin = chat.Piped
	}
	m = receiving.Command(m)
	if c.name != "" && in.ID != "" {
		m.ID = chat.MessageID(c.name + "." + in.ID)
	}
	if err := h.hold(c, &m, in.Files); err != nil {
		return err
	}
	h.mu.Lock()
	accept := h.accept
	if in.ID != "" {
		c.inputs[m.ID] = in.ID
	}
	h.mu.Unlock()
	if accept == nil {
		return errNotReceiving
	}
	return accept(ctx, m)
}

// attach makes the client c the attached client of the session. If the session already has a client, attach returns
// false.
func (h *Hub) attach(session chat.ChatID, c *attachedClient) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clients[session] != nil {
		return false
	}
	h.clients[session] = c
	came := h.arrival(session)
	select {
	case <-came:
	default:
		close(came)
	}
	return true
}

func (h *Hub) detach(session chat.ChatID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, session)
}
