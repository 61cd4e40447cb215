package terminal

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Client is the terminal's side of a connection to a hub.
type Client struct {
	conn    net.Conn
	frames  reader
	writing sync.Mutex
}

// ErrClosed means that the connection has ended. An error that wraps ErrClosed includes the reason that the hub gave,
// if any.
var ErrClosed = errors.New("the connection has ended")

// RefusedError says why a hub refused a client.
type RefusedError struct{ Reason string }

// Error returns the hub's reason for the refusal.
func (e *RefusedError) Error() string { return e.Reason }

// Attach asks the hub at the other end of conn to attach a client, and blocks until the hub answers. The caller can
// make Attach return earlier by closing conn. If Attach fails, Attach closes conn. If the hub refuses the client, the
// error is a [RefusedError].
func Attach(conn net.Conn, hello Hello) (*Client, Welcome, error) {
	c := &Client{conn: conn, frames: newReader(conn)}
	w, err := c.attach(hello)
	if err != nil {
		_ = conn.Close() // report the first error, not the error of Close
		return nil, Welcome{}, err
	}
	return c, w, nil
}

func (c *Client) attach(hello Hello) (Welcome, error) {
	hello.Version = Version
	if err := write(c.conn, Frame{Hello: &hello}); err != nil {
		return Welcome{}, fmt.Errorf("attach to telex: %w", err)
	}
	f, err := c.frames.next()
	switch {
	case err != nil:
		return Welcome{}, fmt.Errorf("attach to telex: %w", err)
	case f.Refused != nil:
		return Welcome{}, &RefusedError{Clean(f.Refused.Reason)}
	case f.Welcome == nil:
		return Welcome{}, fmt.Errorf("attach to telex: %w: no welcome", errFrame)
	}
	return *f.Welcome, nil
}

// Say sends the text that the person typed and the files that the person attached. The methods Say and Stop are safe
// for concurrent use.
func (c *Client) Say(id, text string, files ...File) error {
	return c.write(Frame{Input: &Input{ID: id, Text: text, Files: files}})
}

// Ask is like Say, but the client sends no further input until the answer is complete. The bot asks a client that has
// called Ask no questions, because the client could not send the person's reply.
func (c *Client) Ask(in Input) error {
	in.Last = true
	return c.write(Frame{Input: &in})
}

// Stop stops the answer that is being written.
func (c *Client) Stop() error { return c.write(Frame{Stop: &Stop{}}) }

func (c *Client) write(f Frame) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	err := write(c.conn, f)
	if err != nil {
		_ = c.conn.Close() // a part of the frame may have been written, so the connection is unusable
	}
	return err
}

// Next blocks until the hub sends the next frame, and returns this frame. If the connection has ended, Next returns an
// error that wraps ErrClosed.
func (c *Client) Next() (Frame, error) {
	f, err := c.frames.next()
	switch {
	case errors.Is(err, io.EOF):
		return Frame{}, ErrClosed
	case err != nil:
		return Frame{}, fmt.Errorf("%w: %w", ErrClosed, err)
	case f.Closed != nil:
		return Frame{}, fmt.Errorf("%w: %s", ErrClosed, Clean(f.Closed.Reason))
	}
	return f, nil
}

// Close closes the connection. If a call of Next is blocked, the call returns an error when Close closes the
// connection.
func (c *Client) Close() error { return c.conn.Close() }
