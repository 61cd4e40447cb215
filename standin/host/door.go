package host

import (
	"net"
	"slices"
	"sync"
	"time"
)

// Refuse lets nobody in until then: where a listener is TCP nobody listens there, of another one every
// connection is closed. The zero time lets everybody in again.
func (h *Host) Refuse(until time.Time) {
	h.mu.Lock()
	h.refuseUntil = until
	doors := slices.Clone(h.doors)
	h.mu.Unlock()
	if until.IsZero() {
		return
	}
	for _, d := range doors {
		d.shut()
	}
}

func (h *Host) refusing() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Before(h.refuseUntil)
}

// door is a listener that nobody is behind while the host refuses.
type door struct {
	h    *Host
	addr net.Addr

	mu   sync.Mutex
	l    net.Listener
	away bool // l is closed only for a while.
}

func newDoor(h *Host, l net.Listener) *door { return &door{h: h, addr: l.Addr(), l: l} }

// look is how often a door looks whether it may open again.
const look = 10 * time.Millisecond

// shut closes the door as long as the host refuses, where it can be opened again.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.l.(*net.TCPListener); !ok || d.away {
		return
	}
	if err := d.l.Close(); err == nil { // else it was closed for good
		d.away = true
	}
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	for {
		d.mu.Lock()
		l := d.l
		d.mu.Unlock()
		c, err := l.Accept()
		switch {
		case err != nil && !d.open():
			return nil, err
		case err != nil:
		case !d.h.refusing():
			return c, nil
		default:
			_ = c.Close() // nothing was said over it yet
		}
	}
}

// open waits until the door may be open and opens it; false when it was closed for
// good, or the host was. Until the address is free again it tries again.
func (d *door) open() bool {
	for {
		d.mu.Lock()
		away := d.away
		d.mu.Unlock()
		if !away {
			return false
		}
		if !d.h.refusing() && d.listen() {
			return true
		}
		if !Pause(look, d.h.closed) {
			return false
		}
	}
}

func (d *door) listen() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.away {
		return true // closed for good meanwhile: Accept will say so
	}
	l, err := net.Listen(d.addr.Network(), d.addr.String())
	if err != nil {
		return false
	}
	d.l, d.away = l, false
	return true
}

// Close implements net.Listener.
func (d *door) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away {
		d.away = false
		return nil
	}
	return d.l.Close()
}

// Addr implements net.Listener.
func (d *door) Addr() net.Addr { return d.addr }
