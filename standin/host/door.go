package host

import (
	"net"
	"slices"
	"sync"
	"time"
)

// Refuse refuses connections until the given time. To refuse connections, Refuse closes TCP listeners; other listeners
// accept each connection and close it at once. With the zero time, Refuse accepts connections again.
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

// door is a listener that is closed while the host refuses connections.
type door struct {
	h    *Host
	addr net.Addr

	mu   sync.Mutex
	l    net.Listener
	away bool // the listener l is closed, but only until the outage ends
}

func newDoor(h *Host, l net.Listener) *door { return &door{h: h, addr: l.Addr(), l: l} }

// look is how often a door checks whether it may open again.
const look = 10 * time.Millisecond

// shut closes the listener while the host refuses connections. shut closes only a TCP listener, because the host can
// open such a listener again.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.l.(*net.TCPListener); !ok || d.away {
		return
	}
	if err := d.l.Close(); err == nil { // an error means that the listener was already closed for good
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
			_ = c.Close() // the connection carried no data, so an error does not matter
		}
	}
}

// open waits until the outage is over, and opens the listener again. If another program uses the address, open tries
// until the address is free. open returns false if the door or the host was closed for good.
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
		return true // the listener was closed for good while open waited, and Accept will report this
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
