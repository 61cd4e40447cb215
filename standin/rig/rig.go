package rig

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"telex/standin/fault"
	"telex/standin/host"
	"telex/standin/watch"
)

// Platform is the part of a stand-in that differs between platforms. C is the type of the platform's calls, and E is
// the type of the platform's events. The rig holds the mutex during a function only if the function's comment says so.
// The functions Restart, Detach and Bend may be nil if the platform does not need them.
type Platform[C, E any] struct {
	// Name is the stand-in's name, for panics.
	Name string
	// Handler is the stand-in itself.
	Handler http.Handler
	Mutex   *sync.Mutex
	Log     *slog.Logger
	// Latency is the duration of each call. Each call takes effect after half of the latency.
	Latency time.Duration

	// Serve answers a request outside the control API.
	Serve func(w http.ResponseWriter, r *http.Request, cut <-chan struct{})
	// Control are the platform's own controls.
	Control Controls
	// Reset removes all data of the platform. The rig holds the mutex while it calls Reset.
	Reset func()
	// Restart removes the data that does not survive a restart. The rig holds the mutex while it calls Restart.
	Restart func()
	// Detach ends the connections that the host no longer manages, such as WebSockets. Detach returns the connections that
	// the rig must close. The rig holds the mutex while it calls Detach.
	Detach func() []net.Conn

	// Call returns the fields of a call that all platforms have in common.
	Call func(*C) *Call
	// Finish counts a finished call, and returns its log attributes. The rig holds the mutex while it calls Finish.
	Finish func(*C, Answer) []slog.Attr
	// Head returns the fields of an event that all platforms have in common.
	Head func(*E) *EventHead[C]
	// Place copies the chat or channel of a call to an event.
	Place func(*E, *C)
	// Isolate copies the values to which the platform's own pointers in an event refer, so that a watcher shares no memory
	// with the stand-in. The rig holds the mutex while it calls Isolate.
	Isolate func(*E)

	// Check returns an error if a fault is invalid.
	Check func(*fault.Fault[C]) error
	// Chooses reports whether a fault selects a call. The rig holds the mutex while it calls Chooses.
	Chooses func(*fault.Fault[C], *C) bool
	// Act executes a fault that only this platform has. The rig calls Act in place of the call's effect or after the
	// effect. Act returns the answer to the call. If Act returns false, the call continues.
	Act func(*fault.Fault[C], *C) (Answer, bool)
	// Bend returns the answer to a call that took effect, with the changes that the fault makes to the answer.
	Bend func(*fault.Fault[C], Answer) Answer
}

// Rig is the common part of all stand-ins, which embed it. Init initializes a Rig.
type Rig[C, E any] struct {
	// Host manages the stand-in's listeners and connections.
	Host *host.Host
	// Counted contains the counters. The mutex guards these counters.
	Counted Stats

	p      Platform[C, E]
	faults fault.Table[fault.Fault[C]]
	holds  fault.Holds[C]
	events watch.Hub[E]
	calls  []*C // guarded by the mutex
}

// Init initializes a rig and resets the platform.
func Init[C, E any](g *Rig[C, E], p Platform[C, E]) {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	g.p, g.Host = p, host.New(p.Handler, p.Log)
	g.reset()
}

// reset removes all data. The mutex must be held, except in Init.
func (g *Rig[C, E]) reset() {
	g.faults.Reset()
	g.holds.Reset()
	g.Host.Refuse(time.Time{})
	g.calls, g.Counted = nil, newStats()
	g.p.Reset()
}

// Locked runs f with the mutex held.
func (g *Rig[C, E]) Locked(f func()) {
	g.p.Mutex.Lock()
	defer g.p.Mutex.Unlock()
	f()
}

// Reset removes all data, and cuts all connections and running calls.
func (g *Rig[C, E]) Reset() { g.resetBut(nil) }

// resetBut does the same as Reset, but does not cut the connection spare, over which the reset was requested.
// restartBut and outageBut also keep the connection spare.
func (g *Rig[C, E]) resetBut(spare net.Conn) {
	g.restartBut(0, spare)
	g.Locked(func() {
		g.reset()
		g.tell("reset", nil, nil)
	})
}

// Restart cuts all connections and running calls, like a restart of the platform, and refuses calls for the duration
// down. Stored data stays.
func (g *Rig[C, E]) Restart(down time.Duration) { g.restartBut(down, nil) }

func (g *Rig[C, E]) restartBut(down time.Duration, spare net.Conn) {
	g.drop(func() []net.Conn {
		if g.p.Restart != nil {
			g.p.Restart()
		}
		g.tell("restart", nil, nil)
		return g.Host.Restart(down, spare)
	})
}

// drop calls the function cut and the platform's function Detach while it holds the mutex. After these calls, drop
// closes the connections that both functions returned.
func (g *Rig[C, E]) drop(cut func() []net.Conn) {
	g.p.Mutex.Lock()
	conns := cut()
	if g.p.Detach != nil {
		conns = append(conns, g.p.Detach()...)
	}
	g.p.Mutex.Unlock()
	g.Host.Drop(conns)
}

// Serve answers requests on l until Close is called, then closes l and returns nil.
func (g *Rig[C, E]) Serve(l net.Listener) error { return g.Host.Serve(l) }

// Close ends Serve, cuts all connections and waits for running calls.
func (g *Rig[C, E]) Close() error {
	g.events.Close()
	g.drop(func() []net.Conn {
		g.Host.End()
		return nil
	})
	return g.Host.Close()
}

// ServeHTTP answers a request.
func (g *Rig[C, E]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cut, down := g.Host.Enter()
	defer g.Host.Leave()
	switch {
	case strings.HasPrefix(r.URL.Path, "/control/"):
		g.control(w, r, cut)
	case down:
		panic(http.ErrAbortHandler)
	default:
		g.p.Serve(w, r, cut)
	}
}
