package discord

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Kinds of outages.
const (
	// OutageRefuse: nobody listens at the address, so that a client knows that
	// its call was never sent. A listener that is not TCP closes what it accepts.
	OutageRefuse = "refuse"
	// OutageCut: each call loses its connection before it takes effect.
	OutageCut = "cut"
	// OutageError: each call is answered with Status, by what stands in front.
	OutageError = "5xx"
	// OutageHang: no call is ever answered, not even once the outage is over.
	OutageHang = "hang"
)

// Outage is a time in which the API does nothing.
type Outage struct {
	Kind string `json:"kind"`
	// For is how long it lasts from now on; in JSON it is for_ms.
	For    time.Duration `json:"-"`
	ForMS  int           `json:"for_ms"`
	Status int           `json:"status"` // of a 5xx; 502 when 0.
}

func (o Outage) fault() (Fault, error) {
	f := Fault{For: orElse(o.For, time.Duration(o.ForMS)*time.Millisecond)}
	switch o.Kind {
	case OutageRefuse, OutageCut:
		f.Action = ActCutBefore
	case OutageError:
		f.Action, f.Status = ActStatus, orElse(o.Status, http.StatusBadGateway)
	case OutageHang:
		f.Action = ActHang
	default:
		return f, fmt.Errorf("unknown kind of outage %q", o.Kind)
	}
	switch {
	case f.For <= 0:
		return f, errors.New("outage: it must last some time")
	case f.Status != 0 && (f.Status < 500 || f.Status > 599):
		return f, fmt.Errorf("outage: status %d is not a 5xx", f.Status)
	}
	return f, nil
}

// Outage begins an outage: all connections and calls in flight are cut, and every
// call, and every connection to the gateway, meets it until it is over or ClearFaults ends it. It goes
// before all other faults, which do not count what it hits. It panics on an outage
// that makes no sense.
func (s *Server) Outage(o Outage) {
	f, err := o.fault()
	if err != nil {
		panic("discord stand-in: " + err.Error())
	}
	s.outage(o.Kind, f, nil)
}

func (s *Server) outage(kind string, f Fault, spare net.Conn) {
	s.mu.Lock()
	until := time.Now().Add(f.For)
	s.faults.next++
	s.faults.rules = slices.Insert(s.faults.rules, 0, &faultRule{Fault: f, id: s.faults.next, until: until, alone: true})
	var shut []*door
	if kind == OutageRefuse {
		s.refuseUntil, shut = until, slices.Clone(s.doors)
	}
	s.publish(Event{Kind: "outage"})
	conns := s.cutLocked(spare)
	s.mu.Unlock()
	for _, d := range shut {
		d.shut()
	}
	s.closeAll(conns)
}

// cutLocked cuts the calls in flight and returns the connections to be closed;
// s.mu is held.
func (s *Server) cutLocked(spare net.Conn) []net.Conn {
	close(s.cut)
	s.cut = make(chan struct{})
	var conns []net.Conn
	for c := range s.conns {
		if c != spare {
			conns = append(conns, c)
		}
	}
	for k := range s.sockets {
		s.detach(k, s.opts.ResumeWindow)
		conns = append(conns, k.raw)
	}
	return conns
}

func (s *Server) refusing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.refuseUntil)
}

// door is a listener that nobody is behind while the server refuses.
type door struct {
	s    *Server
	addr net.Addr

	mu   sync.Mutex
	l    net.Listener
	away bool // l is closed only for a while.
}

func newDoor(s *Server, l net.Listener) *door { return &door{s: s, addr: l.Addr(), l: l} }

// look is how often a door looks whether it may open again.
const look = 10 * time.Millisecond

// shut closes the door as long as the server refuses, where it can be opened again.
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
		case !d.s.refusing():
			return c, nil
		default:
			_ = c.Close() // nothing was said over it yet
		}
	}
}

// open waits until the door may be open and opens it; false when it was closed for
// good, or the server was. Until the address is free again it tries again.
func (d *door) open() bool {
	for {
		d.mu.Lock()
		away := d.away
		d.mu.Unlock()
		if !away {
			return false
		}
		if !d.s.refusing() && d.listen() {
			return true
		}
		if !d.s.pause(look, nil) {
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
