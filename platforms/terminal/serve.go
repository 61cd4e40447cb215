package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"telex/internal/chat"
)

// errDetached means that a client has disconnected.
var errDetached = errors.New("the client has left")

// Serve serves one client until the client disconnects, or until the hub refuses the client or finds it too slow. If
// ctx ends, Serve sends the frame Closed to the client and returns. Serve always closes conn. Serve returns nil if the
// client disconnects.
func (h *Hub) Serve(ctx context.Context, conn net.Conn) error {
	defer func() { _ = conn.Close() }() // Close fails only if the connection is already closed
	frames := newReader(conn)
	hello, err := h.greet(ctx, conn, frames)
	if err != nil || hello == nil {
		return err
	}
	c := &attachedClient{out: newOutbox(), name: hello.Client, dialect: hello.Dialect, inputs: make(map[chat.MessageID]string), files: make(map[chat.MessageID][]File)}
	session := chat.ChatID(hello.Session)
	if !h.attach(session, c) {
		return refuse(conn, "the session "+hello.Session+" is open in another terminal; name another one with --session")
	}
	defer h.detach(session)
	// From now on, the outbox keeps all new messages for the client. The frame Welcome contains the earlier messages. The
	// frame Welcome may lack messages that arrive while the hub prepares and sends it, so the outbox must keep such
	// messages.
	if write(conn, Frame{Welcome: h.welcome(ctx, hello.Session)}) != nil {
		return nil // the client left
	}

	var writing sync.WaitGroup
	defer writing.Wait()
	writing.Go(func() {
		defer func() { _ = conn.Close() }() // closing conn makes the blocked read in listen return
		send(conn, c.out)
	})
	stop := context.AfterFunc(ctx, func() {
		c.out.put(Frame{Closed: &Closed{Reason: "telex has stopped"}})
		c.out.end(errDetached)
	})
	defer stop()
	defer c.out.end(errDetached)
	return h.listen(ctx, session, c, frames)
}

// greet reads the client's first frame and returns its Hello. If greet refused the client, or if the client
// disconnected, greet returns nil.
func (h *Hub) greet(ctx context.Context, conn net.Conn, frames reader) (*Hello, error) {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_ = conn.SetReadDeadline(time.Now().Add(helloTimeout)) // if this call fails, reading fails too
	f, err := frames.next()
	switch {
	case ctx.Err() != nil, errors.Is(err, io.EOF):
		return nil, nil //nolint:nilnil // the client disconnected, which is not an error
	case err != nil:
		return nil, fmt.Errorf("attach a terminal: %w", err)
	case f.Hello == nil:
		return nil, refuse(conn, "the first frame must be a hello")
	case f.Hello.Version != Version:
		return nil, refuse(conn, fmt.Sprintf("this telex has a different version from the daemon's (%d and %d): restart the daemon", f.Hello.Version, Version))
	}
	if err := CheckSession(f.Hello.Session); err != nil {
		return nil, refuse(conn, err.Error())
	}
	if len(f.Hello.Client) > maxName {
		return nil, refuse(conn, "the client's name is too long")
	}
	_ = conn.SetReadDeadline(time.Time{})
	select {
	case <-h.opened:
		return f.Hello, nil
	case <-ctx.Done():
		return nil, refuse(conn, errNotReceiving.Error())
	}
}

func (h *Hub) welcome(ctx context.Context, session string) *Welcome {
	o := h.options.Load()
	w := &Welcome{Version: Version, Once: true, Files: true, Model: o.Model, Config: o.Config, Commands: o.Commands}
	if o.History == nil {
		return w
	}
	var err error
	if w.History, err = o.History(ctx, session); err != nil {
		o.Log.Warn("history could not be shown", slog.Any("error", err))
	}
	return w
}

// listen handles the frames of the client until the client disconnects.
func (h *Hub) listen(ctx context.Context, session chat.ChatID, c *attachedClient, frames reader) error {
	for {
		f, err := frames.next()
		switch {
		case errors.Is(err, errFrame), errors.Is(err, errFrameTooLong):
			return fmt.Errorf("listen to a terminal: %w", err)
		case err != nil:
			return nil
		}
		switch {
		case f.Input != nil:
			if err := h.take(ctx, session, c, *f.Input); err != nil {
				h.options.Load().Log.Warn("terminal input was not accepted", slog.Any("error", err))
				c.out.put(Frame{Message: &Message{ID: "refused." + f.Input.ID, Answer: f.Input.ID, Text: notTaken(err), Note: notTaken(err)}})
				c.out.put(Frame{Done: &Done{Input: f.Input.ID, Failed: true}})
			}
		case f.Stop != nil:
			if err := h.take(ctx, session, c, Input{Text: "/stop"}); err != nil {
				h.options.Load().Log.Warn("stop from a terminal was not accepted", slog.Any("error", err))
			}
		default:
			return fmt.Errorf("listen to a terminal: %w: clients do not send this", errFrame)
		}
	}
}

// notTaken returns the line that tells a person why the hub did not accept an input. If the text of the error is not
// meant for people, notTaken returns a general line, and only the log contains the error.
func notTaken(err error) string {
	for _, known := range []error{errInputTooLong, errFiles, errNoInput, errNotReceiving} {
		if errors.Is(err, known) {
			return "This message was not accepted: " + known.Error() + "."
		}
	}
	return "This message was not accepted: it could not be stored."
}

// send writes the frames of the outbox to the connection, until the outbox ends or the connection fails.
func send(conn net.Conn, out *outbox) {
	for {
		f, err := out.take()
		if err != nil {
			return
		}
		if err := write(conn, f); err != nil {
			out.end(err)
			return
		}
	}
}

func write(conn net.Conn, f Frame) error {
	line, err := encodeFrame(f)
	if err != nil {
		return err
	}
	_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // if this call fails, writing fails too
	if _, err := conn.Write(line); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

func refuse(conn net.Conn, reason string) error {
	return write(conn, Frame{Refused: &Refused{Reason: reason}})
}
