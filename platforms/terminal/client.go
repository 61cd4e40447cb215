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

// ErrClosed means that the connection has ended. The error includes the hub's reason, if any.
var ErrClosed = errors.New("the connection has ended")

// RefusedError says why a hub refused a client.
type RefusedError struct{ Reason string }

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Reason }

// Attach starts the protocol on conn and blocks until the hub answers. Closing conn ends the wait. On an error,
// Attach closes conn. If the hub refuses the client, the error is a [RefusedError].
func Attach(conn net.Conn, hello Hello) (*Client, Welcome, error) {
	c := &Client{conn: conn, frames: newReader(conn)}
	w, err := c.attach(hello)
	if err != nil {
		_ = conn.Close() // the first error is the one to report
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

// Say sends what the person typed and attached. It is safe for concurrent use, like Stop.
func (c *Client) Say(id, text string, files ...File) error {
	return c.write(Frame{Input: &Input{ID: id, Text: text, Files: files}})
}

// Ask is like Say, for a client that sends nothing more until the answer is complete. The bot can't ask such a client
// questions.
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

// Next blocks for the next frame of the hub. Its error wraps ErrClosed when the connection has ended.
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

// Close disconnects. A blocked Next returns.
func (c *Client) Close() error { return c.conn.Close() }
