package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// BufferSize is how many bytes a connection buffers in each direction before a write waits for the reader.
const BufferSize = 64 << 10

// conn is one end of a connection. A conn reads from one pipe and writes to the other pipe.
type conn struct {
	in, out *pipe
	side    addr
}

var _ net.Conn = (*conn)(nil)

func pair() (client, server *conn) {
	up, down := newPipe(), newPipe()
	return &conn{in: down, out: up, side: "memnet-client"}, &conn{in: up, out: down, side: "memnet"}
}

func (c *conn) Read(b []byte) (int, error) { n, err := c.in.read(b); return n, c.opError("read", err) }

func (c *conn) Write(b []byte) (int, error) {
	n, err := c.out.write(b)
	return n, c.opError("write", err)
}

// Close ends both directions. The peer can still read data that was written before Close.
func (c *conn) Close() error {
	c.in.closeReader()
	c.out.closeWriter()
	return nil
}

func (c *conn) LocalAddr() net.Addr { return c.side }

func (c *conn) RemoteAddr() net.Addr {
	if c.side == "memnet" {
		return addr("memnet-client")
	}
	return addr("memnet")
}

func (c *conn) SetDeadline(t time.Time) error {
	c.in.reads.set(c.in, t)
	c.out.writes.set(c.out, t)
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error  { c.in.reads.set(c.in, t); return nil }
func (c *conn) SetWriteDeadline(t time.Time) error { c.out.writes.set(c.out, t); return nil }

func (c *conn) opError(op string, err error) error {
	if err == nil || err == io.EOF { //nolint:errorlint // the pipe returns io.EOF without wrapping, and readers compare with ==
		return err
	}
	return &net.OpError{Op: op, Net: "mem", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// pipe is one direction of a connection.
type pipe struct {
	mu      sync.Mutex
	changed *sync.Cond // broadcast when any of the following fields changes
	data    []byte

	readerClosed, writerClosed bool
	reads, writes              deadline
}

func newPipe() *pipe {
	p := &pipe{}
	p.changed = sync.NewCond(&p.mu)
	return p
}

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.readerClosed:
			return 0, net.ErrClosed
		case p.reads.passed():
			return 0, os.ErrDeadlineExceeded
		case len(p.data) > 0:
			n := copy(b, p.data)
			p.data = p.data[n:]
			if len(p.data) == 0 {
				p.data = nil
			}
			p.changed.Broadcast()
			return n, nil
		case p.writerClosed:
			return 0, io.EOF
		case len(b) == 0:
			return 0, nil
		}
		p.changed.Wait()
	}
}

func (p *pipe) write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := 0
	for {
		switch {
		case p.writerClosed:
			return done, net.ErrClosed
		case p.readerClosed:
			return done, syscall.EPIPE
		case p.writes.passed():
			return done, os.ErrDeadlineExceeded
		}
		if room := min(BufferSize-len(p.data), len(b)-done); room > 0 {
			p.data = append(p.data, b[done:done+room]...)
			done += room
			p.changed.Broadcast()
		}
		if done == len(b) {
			return done, nil
		}
		p.changed.Wait()
	}
}

func (p *pipe) closeReader() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readerClosed = true
	p.data = nil
	p.reads.stop()
	p.changed.Broadcast()
}

func (p *pipe) closeWriter() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writerClosed = true
	p.writes.stop()
	p.changed.Broadcast()
}

// deadline is the deadline of reads or writes. When the deadline passes, its timer wakes the goroutines that wait for
// the pipe. pipe.mu guards the deadline.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) set(p *pipe, t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d.stop()
	d.at = t
	if wait := time.Until(t); !t.IsZero() && wait > 0 {
		d.timer = time.AfterFunc(wait, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.changed.Broadcast()
		})
	}
	p.changed.Broadcast()
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }
