package provider

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
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
	// gatherIdle is how many times in a row nothing arrives until nothing is gathered any more.
	gatherIdle = 4
	// gatherMost is how many bytes the kernel keeps silent about.
	gatherMost = 64 << 10
)

// gathering is a connection of which a fast stream is read a few times a second, not once for each piece that arrives. The kernel
// keeps silent about the pieces (SO_RCVLOWAT, https://man7.org/linux/man-pages/man7/socket.7.html), and the reader waits for the
// ticks of a timer that all connections share, so that one wake-up of the process serves them all. A timer of the kernel's
// (https://man7.org/linux/man-pages/man2/timerfd_create.2.html) is one event; the runtime's takes two wake-ups, and more of its monitor.
// While it gathers, a connection knows no read deadline; net/http sets none.
type gathering struct {
	*net.TCPConn
	raw  syscall.RawConn
	last time.Time // when the last read returned
	row  int       // pieces that followed each other closely
	idle int       // ticks at which nothing had arrived

	mu     sync.Mutex
	ticks  *os.File // of the timer; nil: nothing is gathered
	closed bool
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

// Close implements net.Conn. It ends a Read that is waiting.
func (c *gathering) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return errors.Join(c.end(), c.TCPConn.Close())
}

// Read implements net.Conn.
func (c *gathering) Read(p []byte) (int, error) {
	for ticks := c.ticking(); ticks != nil; ticks = c.ticking() {
		n, err := c.readNow(p)
		if !errors.Is(err, unix.EAGAIN) {
			c.idle = 0
			return n, err
		}
		if c.idle++; c.idle > gatherIdle {
			_ = c.end() // a timer that can't be closed ticks on in vain
			break
		}
		var expired [8]byte
		if _, err := ticks.Read(expired[:]); err != nil {
			return 0, net.ErrClosed
		}
	}
	n, err := c.TCPConn.Read(p)
	now := time.Now()
	if c.row++; now.Sub(c.last) >= gatherEvery {
		c.row = 0
	}
	if c.last = now; c.row >= gatherAfter {
		c.begin()
	}
	return n, err
}

// readNow reads what has arrived. It fails with EAGAIN if nothing has.
func (c *gathering) readNow(p []byte) (n int, err error) {
	if e := c.raw.Read(func(fd uintptr) bool {
		for n, err = unix.Read(int(fd), p); errors.Is(err, unix.EINTR); {
			n, err = unix.Read(int(fd), p)
		}
		return true
	}); e != nil {
		return 0, e
	}
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return max(n, 0), err
}

func (c *gathering) ticking() *os.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ticks
}

// begin lets the reader wait for ticks from now on. Where that is not possible, it goes on waiting for pieces.
func (c *gathering) begin() {
	c.row, c.idle = 0, 0
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	ticks, err := newTicks()
	if err != nil {
		return
	}
	if err := c.silence(gatherMost); err != nil {
		_ = ticks.Close() // nothing is lost with it
		return
	}
	c.ticks = ticks
}

// end lets the reader wait for pieces again.
func (c *gathering) end() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ticks == nil {
		return nil
	}
	ticks := c.ticks
	c.ticks = nil
	return errors.Join(ticks.Close(), c.silence(1))
}

// silence lets the kernel keep silent about fewer bytes than least.
func (c *gathering) silence(least int) (err error) {
	if e := c.raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, least)
	}); e != nil {
		return e
	}
	return err
}

// newTicks returns a timer that ticks at moments which are the same for all such timers.
func newTicks() (*os.File, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	ticks := os.NewFile(uintptr(fd), "ticks")
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return nil, errors.Join(err, ticks.Close())
	}
	first := (now.Nano()/int64(gatherEvery) + 1) * int64(gatherEvery)
	spec := unix.ItimerSpec{Interval: unix.NsecToTimespec(int64(gatherEvery)), Value: unix.NsecToTimespec(first)}
	if err := unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		return nil, errors.Join(err, ticks.Close())
	}
	return ticks, nil
}
