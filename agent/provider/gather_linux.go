package provider

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// gatherEvery is how long the pieces of a fast stream may wait for each other. Nobody reads a preview that fast, and a wake-up
	// for each piece costs more than all that is done with it (docs/adr/0016).
	gatherEvery = 80 * time.Millisecond
	// gatherAfter is how many pieces must follow each other closely until they are gathered: more than a handshake takes.
	gatherAfter = 8
	// gatherMost is how many bytes wait at most: more than that wakes the reader at once.
	gatherMost = 16 << 10
)

// gathering is a connection of which a fast stream is read a few times a second, not once for each piece that arrives. The kernel
// keeps silent about pieces until there are many (SO_RCVLOWAT, https://man7.org/linux/man-pages/man7/socket.7.html), and a read
// looks for them at moments that all connections share, so that one wake-up of the process serves them all. The end of the stream
// is told at once. Only the reader's goroutine may set a read deadline; net/http sets none.
type gathering struct {
	*net.TCPConn
	raw  syscall.RawConn
	last time.Time // when the last read returned
	row  int       // pieces that followed each other closely
	fast bool      // so many that the kernel keeps silent about them
}

// gather returns a connection that gathers what arrives, or c itself where that is not possible.
func gather(c net.Conn) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	return &gathering{TCPConn: tcp, raw: raw}
}

// Read implements net.Conn.
func (c *gathering) Read(p []byte) (int, error) {
	if c.fast {
		n, err := c.wait(p)
		if !errors.Is(err, unix.EAGAIN) {
			return n, err
		}
		c.keepSilent(false)
	}
	n, err := c.TCPConn.Read(p)
	now := time.Now()
	if c.row++; now.Sub(c.last) >= gatherEvery {
		c.row = 0
	}
	if c.last = now; c.row >= gatherAfter {
		c.keepSilent(true)
	}
	return n, err
}

// wait reads what has arrived at the next of the shared moments, or earlier if that is much. It fails with EAGAIN if nothing has.
func (c *gathering) wait(p []byte) (int, error) {
	now := time.Now()
	if err := c.SetReadDeadline(now.Truncate(gatherEvery).Add(gatherEvery)); err != nil {
		return 0, err
	}
	n, err := c.TCPConn.Read(p)
	if c.last = time.Now(); !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return 0, err
	}
	if e := c.raw.Read(func(fd uintptr) bool {
		n, err = unix.Read(int(fd), p)
		return true
	}); e != nil {
		return 0, e
	}
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return max(n, 0), err
}

// keepSilent sets whether the kernel wakes the reader for every piece. Where it can't be set, nothing is gathered.
func (c *gathering) keepSilent(silent bool) {
	least := 1
	if silent {
		least = gatherMost
	}
	failed := c.SetReadDeadline(time.Time{})
	if err := c.raw.Control(func(fd uintptr) {
		failed = errors.Join(failed, unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, least))
	}); err != nil {
		failed = err
	}
	c.row, c.fast = 0, silent && failed == nil
}
