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

// This file and sockets.go implement a client for Socket Mode: this file handles one socket, and sockets.go decides when
// to open another one. docs/adr/0015-what-slack-go-does.md explains why telex does not use the client of the library
// slack-go. https://docs.slack.dev/apis/events-api/using-socket-mode

const methodOpen = "apps.connections.open"

const (
	// telex sends a ping at intervals of pingEvery. If the pong does not arrive within pongTimeout, telex considers the
	// connection dead. Slack's own clients use the same values of pingEvery and pongTimeout.
	// https://docs.slack.dev/tools/node-slack-sdk/reference/socket-mode
	pingEvery   = 10 * time.Second
	pongTimeout = 5 * time.Second
	// drainTime is how long telex still reads a socket after Slack has asked telex to replace the socket.
	drainTime = time.Minute
	// maxEnvelope is the maximum size of one message from Slack in bytes. Slack documents no limit for the size of its
	// messages. A message with tens of thousands of blocks fits into maxEnvelope.
	maxEnvelope = 8 << 20
	// maxWaiting is how many envelopes of a socket may wait before reading stops.
	maxWaiting = 64
)

// envelope is a message that Slack sends over a socket: a hello, a disconnect, or an event that telex must
// acknowledge.
type envelope struct {
	Type        string          `json:"type"`
	Reason      string          `json:"reason"` // only in a disconnect: why Slack wants to replace the socket
	ID          string          `json:"envelope_id"`
	Payload     json.RawMessage `json:"payload"`
	Retry       int             `json:"retry_attempt"`
	Connections int             `json:"num_connections"` // only in a hello: number of the app's open sockets

	arrived time.Time
}

// socket is one WebSocket connection through which Slack delivers events.
type socket struct {
	conn  *websocket.Conn
	queue chan envelope // the queue lets telex answer pings while accept waits for the store
	born  time.Time
}

// openSocket requests the URL of a new socket.
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

// connect opens a socket and waits for Slack's hello.
func (r *receiver) connect(ctx context.Context) (*socket, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	address, err := r.bot.openSocket(ctx)
	if err != nil {
		return nil, err
	}
	conn, resp, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: r.bot.client}) //nolint:bodyclose // Dial closes the body.
	if err != nil {
		failure := &chat.SendError{Kind: chat.Temporary, Err: r.bot.secrets.Error("open socket", err)}
		if resp != nil { // replace the library's error, which would contain the URL, a secret
			failure.Err = r.bot.secrets.RefusedError("open socket", calls.Outcome{Status: resp.StatusCode}, "", "")
		}
		return nil, failure
	}
	conn.SetReadLimit(maxEnvelope)
	first, err := readHello(ctx, conn)
	if err != nil {
		_ = conn.CloseNow() // an error means that the connection was closed before
		return nil, err
	}
	if first.Connections > 1 {
		r.bot.log.DebugContext(ctx, "the app has several sockets, and each receives a part of the events", slog.Int("sockets", first.Connections))
	}
	return &socket{conn: conn, queue: make(chan envelope, maxWaiting), born: time.Now()}, nil
}

// readHello reads the first message of a socket, which must be a hello.
func readHello(ctx context.Context, conn *websocket.Conn) (*envelope, error) {
	first := new(envelope)
	_, data, err := conn.Read(ctx)
	if err == nil {
		first, err = receiving.Decode[envelope](data)
	}
	switch {
	case err != nil:
		return first, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("open socket: no hello: %w", err)}
	case first.Type == "disconnect" && first.Reason == "too_many_websockets":
		return first, &chat.SendError{Kind: chat.RateLimited, RetryAfter: maxRetry, Err: errors.New(
			"open socket: the app has ten sockets already: stop the other programs that use its app_token")}
	case first.Type != "hello":
		return first, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("open socket: expected hello, got %q, reason %q", first.Type, first.Reason)}
	}
	return first, nil
}

// runSocket handles a socket until the socket or ctx ends. If accept is running, runSocket returns only after accept
// has returned.
func (r *receiver) runSocket(ctx context.Context, l *socket, events chan<- socketEvent) {
	socketCtx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	var workers sync.WaitGroup
	workers.Go(func() { stop(r.readSocket(socketCtx, ctx, l, events)) })
	workers.Go(func() { stop(l.ping(socketCtx)) })
	err := r.handleQueue(socketCtx, ctx, l)
	stop(err)
	_ = l.conn.CloseNow() // an error means that the connection was closed before
	workers.Wait()
	if _, refused := errors.AsType[acceptError](err); !refused {
		err = context.Cause(socketCtx) // the first error that ended the socket
	}
	select {
	case events <- socketEvent{socket: l, err: err}:
	case <-ctx.Done():
	}
}

// readSocket reads envelopes from the socket and queues them until the socket ends. readSocket also reports when Slack
// wants to replace the socket.
func (r *receiver) readSocket(socketCtx, ctx context.Context, l *socket, events chan<- socketEvent) error {
	reading := socketCtx
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
			if reading != socketCtx {
				continue // readSocket has reported the disconnect before; keep reading to answer pings
			}
			select {
			case events <- socketEvent{socket: l, leaving: true, err: errors.New("disconnect: " + e.Reason)}:
			case <-socketCtx.Done():
			}
			var stop context.CancelFunc
			reading, stop = context.WithTimeout(socketCtx, drainTime)
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

// The method ping sends pings to Slack until Slack does not answer a ping, and then returns an error.
func (l *socket) ping(socketCtx context.Context) error {
	for {
		if err := receiving.Sleep(socketCtx, pingEvery); err != nil {
			return err
		}
		if len(l.queue) == cap(l.queue) {
			continue // the goroutine that would read the pong waits for room in the queue
		}
		ctx, cancel := context.WithTimeout(socketCtx, pongTimeout)
		err := l.conn.Ping(ctx)
		cancel()
		if err != nil {
			return fmt.Errorf("ping socket: %w", err)
		}
	}
}

// handleQueue handles and acknowledges the envelopes in the queue, in order, until ctx or the socket ends, or accept
// fails.
func (r *receiver) handleQueue(socketCtx, ctx context.Context, l *socket) error {
	for {
		select {
		case <-socketCtx.Done():
			return socketCtx.Err()
		case <-ctx.Done():
			return ctx.Err()
		case e := <-l.queue:
			r.hold(ctx)
			ack, err := r.dispatch(ctx, e)
			if err != nil {
				return err
			}
			l.acknowledge(socketCtx, e, ack)
		}
	}
}

// dispatch handles the content of an envelope, and returns the content of its acknowledgement; nil: no content.
func (r *receiver) dispatch(ctx context.Context, e envelope) (json.RawMessage, error) {
	var a decodedEvent
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
	a.arrived, a.in.Missed = e.arrived, e.Retry > 0 && r.wasWaiting(a.in)
	return r.deliverAndAck(ctx, a, found, err)
}

// deliverAndAck delivers a decoded event, and returns the content of its acknowledgement; nil: no content. If an event
// can't be decoded, deliverAndAck logs the error, and Slack gets an acknowledgement.
func (r *receiver) deliverAndAck(ctx context.Context, a decodedEvent, found bool, err error) (json.RawMessage, error) {
	switch {
	case err != nil:
		r.bot.log.WarnContext(ctx, "event skipped", slog.Any("error", err))
		return nil, nil
	case !found:
		return nil, nil
	}
	slash := a.in.Kind == chat.Command // a command that is typed after a mention arrives as an ordinary message
	if slash && r.bot.isNotMember(ctx, &a) {
		return acknowledgement("ephemeral", textNotMember), nil
	}
	refusal := ""
	if slash && r.bot.screen.Refusal != nil {
		refusal = r.bot.screen.Refusal(a.in)
	}
	if err := r.deliver(ctx, a); err != nil {
		return nil, err
	}
	switch {
	case refusal != "":
		return acknowledgement("ephemeral", refusal), nil
	case slash && a.in.To.Kind == chat.Group:
		return acknowledgement("in_channel", ""), nil // everybody sees the command; the answer follows below it
	}
	return nil, nil
}

// acknowledge acknowledges an envelope. If the acknowledgement does not reach Slack, Slack delivers the envelope again.
// If handling the envelope took longer than ackTimeout, acknowledge sends nothing, because Slack delivers the envelope
// again anyway. The parameter ack is Slack's immediate response to a slash command; if ack is nil, Slack shows nothing.
func (l *socket) acknowledge(socketCtx context.Context, e envelope, ack json.RawMessage) {
	if e.ID == "" || time.Since(e.arrived) >= ackTimeout {
		return
	}
	data, _ := json.Marshal(struct { // encoding can't fail: only strings and JSON
		ID   string          `json:"envelope_id"`
		Says json.RawMessage `json:"payload,omitempty"`
	}{e.ID, ack})
	ctx, cancel := context.WithTimeout(socketCtx, ackTimeout)
	defer cancel()
	_ = l.conn.Write(ctx, websocket.MessageText, data) // after an error the socket ends, and readSocket returns an error
}
