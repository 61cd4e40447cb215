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
	// gatherEvery is the interval at which a fast stream is read. Nobody reads a growing answer faster than that. A
	// wake-up for each piece would cost more CPU time than all other work (docs/adr/0016).
	gatherEvery = 80 * time.Millisecond
	// gatherAfter is the number of pieces in close succession after which gathering begins. A TLS handshake has fewer pieces, so
	// gathering does not delay the handshake.
	gatherAfter = 8
	// gatherIdle is the number of ticks without data after which gathering ends.
	gatherIdle = 4
	// maxGathered is the number of received bytes up to which the kernel does not wake up the process.
	maxGathered = 64 << 10
)

// gathering is a connection that reads a fast stream a few times a second, not once for each piece. The kernel holds back
// pieces (SO_RCVLOWAT, https://man7.org/linux/man-pages/man7/socket.7.html), and the reader waits for the next tick of a
// timer. The timers of all connections tick at the same moments, so the process wakes up only once for all connections. A
// kernel timer (https://man7.org/linux/man-pages/man2/timerfd_create.2.html) costs one event; a timer of the Go runtime costs
// two or more wake-ups. While a connection gathers, it ignores read deadlines; net/http sets none.
type gathering struct {
	*net.TCPConn
	raw         syscall.RawConn
	last        time.Time // when the last read returned
	closePieces int       // number of pieces in close succession
	idle        int       // number of ticks without data

	mu     sync.Mutex
	ticks  *os.File // the timer; nil: the connection does not gather
	closed bool
}

// gather returns a connection that gathers the pieces of a fast stream, or c itself if c does not support that.
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

// Close implements net.Conn. Close ends a Read that is waiting.
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
			_ = c.end() // a timer that can't be closed only causes unnecessary wake-ups
			break
		}
		var expired [8]byte
		if _, err := ticks.Read(expired[:]); err != nil {
			return 0, net.ErrClosed
		}
	}
	n, err := c.TCPConn.Read(p)
	now := time.Now()
	if c.closePieces++; now.Sub(c.last) >= gatherEvery {
		c.closePieces = 0
	}
	if c.last = now; c.closePieces >= gatherAfter {
		c.begin()
	}
	return n, err
}

// readNow reads the data that has arrived. readNow fails with EAGAIN if no data has arrived.
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

// begin makes Read wait for the ticks of a timer from now on. If begin can't set up the timer, Read continues to return each
// piece at once.
func (c *gathering) begin() {
	c.closePieces, c.idle = 0, 0
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	ticks, err := newTicks()
	if err != nil {
		return
	}
	if err := c.silence(maxGathered); err != nil {
		_ = ticks.Close() // closing the timer loses no data
		return
	}
	c.ticks = ticks
}

// end makes Read return each piece at once again.
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

// silence sets the number of bytes below which the kernel does not wake up the reader.
func (c *gathering) silence(least int) (err error) {
	if e := c.raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, least)
	}); e != nil {
		return e
	}
	return err
}

// newTicks returns a timer. All timers of newTicks tick at the same moments.
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
