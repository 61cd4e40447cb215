package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/coder/websocket"
	library "github.com/slack-go/slack"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
	"telex/platforms/internal/receiving"
)

// Socket Mode has a client of its own here, and not the library's: docs/adr/0015-what-slack-go-does.md says why.
// https://docs.slack.dev/apis/events-api/using-socket-mode

const methodOpen = "apps.connections.open"

const (
	// pingEvery and pongTime find a dead connection, as Slack's own clients do.
	// https://docs.slack.dev/tools/node-slack-sdk/reference/socket-mode
	pingEvery = 10 * time.Second
	pongTime  = 5 * time.Second
	// leaveFor is how long a socket that Slack wants to replace is read beside the new one.
	leaveFor = time.Minute
	// steady is how long a socket must have lasted to be replaced at once after its end. Else Run returns, and its caller waits.
	steady = 10 * time.Second
	// minLife is how long a socket must last for the next one to be opened at once.
	minLife = 2 * time.Second
	// The waits between tries to replace a socket that still works.
	firstRetry = time.Second
	maxRetry   = 30 * time.Second
	// maxEnvelope bounds one message from Slack, in bytes. None is documented; ten thousands of blocks fit.
	maxEnvelope = 8 << 20
	// maxWaiting is how many envelopes of a socket wait for their turn; beyond, reading stops.
	maxWaiting = 64
)

// envelope is what comes over a socket: hello, disconnect, or something to be acknowledged.
type envelope struct {
	Type        string          `json:"type"`
	Reason      string          `json:"reason"` // of a disconnect
	ID          string          `json:"envelope_id"`
	Payload     json.RawMessage `json:"payload"`
	Retry       int             `json:"retry_attempt"`
	Connections int             `json:"num_connections"` // of a hello

	arrived time.Time
}

// socket is one connection that Slack delivers to.
type socket struct {
	conn  *websocket.Conn
	queue chan envelope // between reading and accepting: pings must not wait for the store
	born  time.Time
}

// socketEvent is what a socket tells its manager.
type socketEvent struct {
	socket  *socket
	leaving bool  // Slack wants it to be replaced; else it has ended
	err     error // why it ended
}

// listen keeps a socket open until ctx ends, or until the last socket has closed and no other can be opened. A socket that Slack wants to replace
// is read until the next one works.
func (r *reception) listen(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	k := socketManager{sockets: make(map[*socket]bool), events: make(chan socketEvent), delay: firstRetry}
	beat := time.NewTicker(chat.BeatEvery) //nolint:forbidigo // the watchdog wants to know that the loop turns.
	defer beat.Stop()
	for {
		r.bot.heart.Beat()
		if k.wanted() {
			l, err := r.connect(ctx)
			switch {
			case err == nil:
				k.sockets[l] = false
				r.isOpen(ctx)
				work.Go(func() { r.keep(ctx, l, k.events) })
			case ctx.Err() != nil, len(k.sockets) == 0, chat.AsSendError(err).Kind == chat.Auth:
				return err
			default:
				r.bot.log.WarnContext(ctx, "a new socket can't be opened yet", slog.Any("error", err))
				k.postpone(chat.AsSendError(err).RetryAfter)
			}
		}
		select {
		case n := <-k.events:
			flaps := k.flaps(n)
			if err := k.handle(n); err != nil {
				return err
			}
			if flaps {
				k.postpone(0)
			}
			r.bot.log.DebugContext(ctx, "socket", slog.Bool("leaving", n.leaving), slog.Any("error", n.err), slog.Int("sockets", len(k.sockets)))
		case <-k.later:
			k.later = nil
		case <-beat.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// socketManager is what listen knows of its sockets.
type socketManager struct {
	sockets  map[*socket]bool // true: it is leaving
	events   chan socketEvent
	later    <-chan time.Time // when to try again; nil: nothing is waited for
	delay    time.Duration
	flapping int       // how many sockets in a row were to be replaced as soon as they were open
	until    time.Time // of a rate limit: no socket may be requested before
}

// wanted reports whether no socket stays and it is time to open one.
func (k *socketManager) wanted() bool {
	for _, leaving := range k.sockets {
		if !leaving {
			return false
		}
	}
	return k.later == nil
}

// postpone makes the next try wait.
func (k *socketManager) postpone(least time.Duration) {
	k.later = time.After(max(k.delay, least)) //nolint:forbidigo // receiving waits, and no call of the gateway.
	k.delay, k.until = min(maxRetry, 2*k.delay), time.Now().Add(least)
}

// flaps reports whether a socket is to be replaced that was hardly open, and the one before as well: the next one may
// fare no better.
func (k *socketManager) flaps(n socketEvent) bool {
	switch {
	case k.sockets[n.socket]: // it is being replaced already
		return false
	case time.Since(n.socket.born) >= minLife:
		k.flapping, k.delay = 0, firstRetry
	case n.leaving:
		k.flapping++
	}
	return n.leaving && k.flapping > 1
}

// handle notes an event. It fails if receiving must end: accept failed; or the last socket ended, and another may not be
// requested yet or would be no better because this one was so young.
func (k *socketManager) handle(n socketEvent) error {
	if n.leaving {
		k.sockets[n.socket] = true
		return nil
	}
	delete(k.sockets, n.socket)
	if _, refused := errors.AsType[refusal](n.err); refused {
		return n.err
	}
	if len(k.sockets) > 0 {
		return nil
	}
	if wait := time.Until(k.until); wait > 0 {
		return &chat.SendError{Kind: chat.RateLimited, RetryAfter: wait, Err: n.err}
	}
	if k.later = nil; time.Since(n.socket.born) < steady {
		return &chat.SendError{Kind: chat.Temporary, Err: n.err}
	}
	return nil
}

// openSocket asks for the address of a new socket.
func (b *Bot) openSocket(ctx context.Context) (string, error) {
	a, err := b.call(ctx, methodOpen, func(ctx context.Context, api *library.Client) error {
		_, _, err := api.StartSocketModeContext(ctx)
		return err
	})
	if err != nil {
		return "", err
	}
	var place struct {
		URL string `json:"url"`
	}
	err = a.decode(methodOpen, &place)
	return place.URL, err
}

// connect opens a socket and waits until Slack greets on it.
func (r *reception) connect(ctx context.Context) (*socket, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	address, err := r.bot.openSocket(ctx)
	if err != nil {
		return nil, err
	}
	conn, resp, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: r.bot.client}) //nolint:bodyclose // Dial says that it need not be.
	if err != nil {
		failure := &chat.SendError{Kind: chat.Temporary, Err: r.bot.secrets.Error("open socket", err)}
		if resp != nil { // the library's text would hold the address, which is a secret
			failure.Err = r.bot.secrets.Refused("open socket", calls.Outcome{Status: resp.StatusCode}, "", "")
		}
		return nil, failure
	}
	conn.SetReadLimit(maxEnvelope)
	first, err := greeting(ctx, conn)
	if err != nil {
		_ = conn.CloseNow() // an error means that it was closed before
		return nil, err
	}
	if first.Connections > 1 {
		r.bot.log.DebugContext(ctx, "the app has several sockets, each of which gets a part of what comes", slog.Int("sockets", first.Connections))
	}
	return &socket{conn: conn, queue: make(chan envelope, maxWaiting), born: time.Now()}, nil
}

// greeting reads the first message of a socket, which must be a hello.
func greeting(ctx context.Context, conn *websocket.Conn) (*envelope, error) {
	first := new(envelope)
	_, data, err := conn.Read(ctx)
	if err == nil {
		first, err = receiving.Decode[envelope](data)
	}
	switch {
	case err != nil:
		return first, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("open socket: no greeting came: %w", err)}
	case first.Type == "disconnect" && first.Reason == "too_many_websockets":
		return first, &chat.SendError{Kind: chat.RateLimited, RetryAfter: maxRetry, Err: errors.New(
			"open socket: the app has ten sockets already: stop the other programs that use its app_token")}
	case first.Type != "hello":
		return first, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("open socket: greeted by %q, reason %q", first.Type, first.Reason)}
	}
	return first, nil
}

// keep serves a socket until it or ctx ends. It then finishes the message that is being accepted.
func (r *reception) keep(ctx context.Context, l *socket, tell chan<- socketEvent) {
	alive, end := context.WithCancelCause(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { end(r.read(alive, ctx, l, tell)) })
	work.Go(func() { end(l.ping(alive)) })
	err := r.work(alive, ctx, l)
	end(err)
	_ = l.conn.CloseNow() // an error means that it was closed before
	work.Wait()
	if _, refused := errors.AsType[refusal](err); !refused {
		err = context.Cause(alive) // why it ended first
	}
	select {
	case tell <- socketEvent{socket: l, err: err}:
	case <-ctx.Done():
	}
}

// read puts envelopes into the queue until the socket ends. It tells when Slack wants to replace the socket.
func (r *reception) read(alive, ctx context.Context, l *socket, tell chan<- socketEvent) error {
	reading := alive
	for {
		_, data, err := l.conn.Read(reading)
		if err != nil {
			return fmt.Errorf("read socket: %w", err)
		}
		e, err := receiving.Decode[envelope](data)
		if err != nil {
			r.bot.log.WarnContext(ctx, "envelope skipped", slog.Any("error", err))
			continue
		}
		if e.Type == "disconnect" { // warning, refresh_requested or link_disabled
			if reading != alive {
				continue // it is known, and pings must be answered meanwhile
			}
			select {
			case tell <- socketEvent{socket: l, leaving: true, err: errors.New("disconnect: " + e.Reason)}:
			case <-alive.Done():
			}
			var stop context.CancelFunc
			reading, stop = context.WithTimeout(alive, leaveFor)
			defer stop()
			continue
		}
		e.arrived = time.Now()
		select {
		case l.queue <- *e:
		case <-reading.Done():
			return reading.Err()
		}
	}
}

// ping returns an error once pings are not answered any more.
func (l *socket) ping(alive context.Context) error {
	for {
		if err := receiving.Sleep(alive, pingEvery); err != nil {
			return err
		}
		if len(l.queue) == cap(l.queue) {
			continue // nobody reads the answer
		}
		ctx, cancel := context.WithTimeout(alive, pongTime)
		err := l.conn.Ping(ctx)
		cancel()
		if err != nil {
			return fmt.Errorf("ping socket: %w", err)
		}
	}
}

// work accepts what is in the queue and acknowledges it, in order, until ctx ends, the socket does, or
// accept fails.
func (r *reception) work(alive, ctx context.Context, l *socket) error {
	for {
		select {
		case <-alive.Done():
			return alive.Err()
		case <-ctx.Done():
			return ctx.Err()
		case e := <-l.queue:
			r.hold(ctx)
			says, err := r.dispatch(ctx, e)
			if err != nil {
				return err
			}
			l.acknowledge(alive, e, says)
		}
	}
}

// dispatch hands on the content of an envelope, and returns the content of its acknowledgement; nil: none.
func (r *reception) dispatch(ctx context.Context, e envelope) (json.RawMessage, error) {
	var a arrival
	var found bool
	var err error
	switch e.Type {
	case "events_api":
		a, found, err = decodeEvent(e.Payload, r.self)
	case "slash_commands":
		a, found, err = decodeCommand(e.Payload)
	case "interactive":
		a, found, err = decodeInteraction(e.Payload)
	}
	a.arrived, a.in.Missed = e.arrived, e.Retry > 0 && r.waited(a.in)
	return r.settle(ctx, a, found, err)
}

// settle hands on what was decoded, and returns the content of its acknowledgement; nil: none. What can't be decoded is logged
// and acknowledged.
func (r *reception) settle(ctx context.Context, a arrival, found bool, err error) (json.RawMessage, error) {
	switch {
	case err != nil:
		r.bot.log.WarnContext(ctx, "event skipped", slog.Any("error", err))
		return nil, nil
	case !found:
		return nil, nil
	}
	slash := a.in.Kind == chat.Command // one that is typed after a mention is still a text
	if slash && r.bot.isOutside(ctx, &a) {
		return response("ephemeral", outside), nil
	}
	refusal := ""
	if slash && r.bot.screen.Refusal != nil {
		refusal = r.bot.screen.Refusal(a.in)
	}
	if err := r.take(ctx, a); err != nil {
		return nil, err
	}
	switch {
	case refusal != "":
		return response("ephemeral", refusal), nil
	case slash && a.in.To.Kind == chat.Group:
		return response("in_channel", ""), nil // shows the command; the answer stands below for all
	}
	return nil, nil
}

// acknowledge acknowledges an envelope. If that fails, Slack delivers it again. So it does with one that took too long, which
// needs no acknowledgement. says is shown to the user of a command; nil: nothing.
func (l *socket) acknowledge(alive context.Context, e envelope, says json.RawMessage) {
	if e.ID == "" || time.Since(e.arrived) >= ackTime {
		return
	}
	data, _ := json.Marshal(struct { // of a text and of JSON, which never fails
		ID   string          `json:"envelope_id"`
		Says json.RawMessage `json:"payload,omitempty"`
	}{e.ID, says})
	ctx, cancel := context.WithTimeout(alive, ackTime)
	defer cancel()
	_ = l.conn.Write(ctx, websocket.MessageText, data) // the socket ends then, which is seen by reading
}
