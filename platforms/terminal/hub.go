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

// Endpoint is the name of the terminal among the endpoints. No other may have it: it is a key of the section streaming.
const Endpoint chat.EndpointID = "cli"

// operator is the person at a terminal: anybody who may start the program or reach the daemon's socket.
const operator chat.UserID = "operator"

// HubOptions are what a Hub is made of.
type HubOptions struct {
	Cursor string // what previews end with; clients draw it themselves
	// History returns what was said last in a session, oldest first; nil: nothing is shown.
	History func(ctx context.Context, session string) ([]Line, error)
	Model   string // who answers, for people to read; empty: nothing is shown
	// Config is the path of the configuration file, which clients are told.
	Config string
	// Commands are the names of the commands that people have there, for clients to complete.
	Commands []string
	Log      *slog.Logger
}

// Hub is the platform: it receives input from attached terminals and shows them the answers. Serve is called with each client's
// connection.
type Hub struct {
	options atomic.Pointer[HubOptions]
	opened  chan struct{} // closed once Run has begun
	open    func()        // closes opened
	late    chan struct{} // closed once nobody is waited for any more
	give    func()        // closes late

	mu      sync.Mutex
	accept  func(context.Context, chat.Inbound) error // nil while nothing is received
	clients map[chat.ChatID]*attached
	came    map[chat.ChatID]chan struct{} // closed once a client was attached to the session
}

// attached is a client that is attached to a session.
type attached struct {
	out     *outbox
	name    string // empty: it has none
	dialect Dialect
	inputs  map[chat.MessageID]string // what it calls those of its inputs that are not answered
	files   map[chat.MessageID][]File // that came with them
}

// NewHub returns a hub without clients.
func NewHub(o HubOptions) *Hub {
	h := &Hub{
		opened: make(chan struct{}), late: make(chan struct{}),
		clients: make(map[chat.ChatID]*attached), came: make(map[chat.ChatID]chan struct{}),
	}
	h.Reload(o)
	h.open = sync.OnceFunc(func() { close(h.opened) })
	h.give = sync.OnceFunc(func() { close(h.late) })
	return h
}

// Reload replaces the options, for clients that attach from now on.
func (h *Hub) Reload(o HubOptions) { h.options.Store(&o) }

// Capabilities implements gateway.Platform.
func (h *Hub) Capabilities() chat.Capabilities {
	return chat.Capabilities{Edit: true, Delete: true, Typing: true, Concludes: true, Fetch: true}
}

// Profile implements gateway.Platform.
func (h *Hub) Profile(chat.Target) chat.Profile {
	return chat.Profile{TextLimit: textLimit, EditInterval: editInterval, TypingEvery: typingFor, KeyFor: keyFor}
}

// Dialect implements gateway.Platform: it is that of the attached client; without one, that of most clients, for messages that
// wait for a client to come back.
func (h *Hub) Dialect(to chat.Target) markup.Dialect {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.clients[to.Chat]; c != nil {
		return c.dialect
	}
	return Dialect{Colour: true}
}

// Run implements gateway.Platform: input goes to accept until ctx ends. There is nothing to resume: a client learns whether its
// input was taken.
func (h *Hub) Run(ctx context.Context, _ chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	h.mu.Lock()
	h.accept = accept
	h.mu.Unlock()
	h.open()
	defer time.AfterFunc(returnsIn, h.give).Stop() //nolint:forbidigo // the network is not whole before its clients had time to come back.
	defer h.give()
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

// Edit implements preview.Editor. What it edits may be a message of an earlier process.
func (h *Hub) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	if err := h.await(ctx, ref.Target); err != nil {
		return chat.Receipt{}, err
	}
	return chat.Receipt{Ref: ref}, h.show(ref, m)
}

// await waits until a client has been attached to a session, as long as clients of an earlier process may still come back. It
// waits for each session only once.
func (h *Hub) await(ctx context.Context, to chat.Target) error {
	h.mu.Lock()
	came := h.arrival(to.Chat)
	h.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-came:
	case <-h.late:
	}
	if err := ctx.Err(); err != nil {
		return &chat.SendError{Kind: chat.Temporary, Err: err}
	}
	return nil
}

// arrival returns a channel that is closed once a client was attached to a session, or once none is waited for. The caller holds
// mu.
func (h *Hub) arrival(session chat.ChatID) chan struct{} {
	select {
	case <-h.late:
		return h.late
	default:
	}
	if h.came[session] == nil {
		h.came[session] = make(chan struct{})
	}
	return h.came[session]
}

// show hands the state of a message to the client that is attached, if there is one.
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
		shown.Text = ansi.Strip(shown.Text) // it was written before the client came
	}
	shown.Answer = c.inputs[m.ReplyTo]
	if len(shown.Text)+len(shown.Source) > maxFrame/8 { // only then it could be too long once it is written as JSON
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
		if c == nil || c.inputs[id] == "" { // of a client that has left
			continue
		}
		c.out.put(Frame{Done: &Done{Input: c.inputs[id], Failed: failed}})
		delete(c.inputs, id)
	}
}

var sessionName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// CheckSession returns an error if a name can't be that of a session.
func CheckSession(name string) error {
	if !sessionName.MatchString(name) {
		return fmt.Errorf("%q is no name of a session: 1 to 64 of the characters a-z, A-Z, 0-9, dot, _ and -", name)
	}
	return nil
}

// Why an input is refused.
var (
	errInputTooLong = fmt.Errorf("that is longer than the %d characters that a message may have", MaxInput)
	errFiles        = fmt.Errorf("an input may have %d files of %d MB together, and telex holds %d MB of a terminal's files", maxAttached, MaxFiles>>20, maxHeld>>20)
	errNoInput      = errors.New("there is nothing in it")
	errNotReceiving = errors.New("telex is stopping")
)

// take hands an input to the gateway and returns once it is durable.
func (h *Hub) take(ctx context.Context, session chat.ChatID, c *attached, in Input) error {
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

// attach makes c the client of its session; false when there is one.
func (h *Hub) attach(session chat.ChatID, c *attached) bool {
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
