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

// Platform is what a stand-in adds to the rig: C is its call, E its event. Functions that say so are
// called with the mutex held. Those that are nil do nothing.
type Platform[C, E any] struct {
	// Name is that of the stand-in, for panics.
	Name string
	// Handler is the stand-in itself.
	Handler http.Handler
	Mutex   *sync.Mutex
	Log     *slog.Logger
	// Latency is how long each call takes, half of it before it takes effect.
	Latency time.Duration

	// Serve answers a request that is not for the control API.
	Serve func(w http.ResponseWriter, r *http.Request, cut <-chan struct{})
	// Control are the controls that the platform has beside those of the rig.
	Control Controls
	// Reset forgets everything that happened; the mutex is held.
	Reset func()
	// Restart forgets what does not outlive a restart; the mutex is held.
	Restart func()
	// Detach ends the connections that are no longer the host's, and returns those to close; the mutex is held.
	Detach func() []net.Conn

	// Call is the part of a call that all platforms have.
	Call func(*C) *Call
	// Finish counts the end of a call, and returns what the log says of it; the mutex is held.
	Finish func(*C, Answer) []slog.Attr
	// Head is the part of an event that all platforms have.
	Head func(*E) *EventHead[C]
	// Place names in an event the place of a call.
	Place func(*E, *C)
	// Isolate copies what the platform's own pointers of an event lead to; the mutex is held.
	Isolate func(*E)

	// Check tells what is wrong with a fault.
	Check func(*fault.Fault[C]) error
	// Chooses tells whether a fault is about a call; the mutex is held.
	Chooses func(*fault.Fault[C], *C) bool
	// Act does what a fault of the platform's own does in place of the effect, or after it, and returns its answer;
	// false: the call goes on.
	Act func(*fault.Fault[C], *C) (Answer, bool)
	// Bend changes the answer to a call that took effect.
	Bend func(*fault.Fault[C], Answer) Answer
}

// Rig is what a stand-in embeds. Use Init.
type Rig[C, E any] struct {
	// Host is the machine that the stand-in runs on.
	Host *host.Host
	// Counted is guarded by the mutex.
	Counted Stats

	p      Platform[C, E]
	faults fault.Table[fault.Fault[C]]
	holds  fault.Holds[C]
	events watch.Hub[E]
	calls  []*C // guarded by the mutex.
}

// Init makes a rig ready, and resets the platform.
func Init[C, E any](g *Rig[C, E], p Platform[C, E]) {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	g.p, g.Host = p, host.New(p.Handler, p.Log)
	g.reset()
}

// reset forgets everything; the mutex is held, or nobody else is there yet.
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

// Reset forgets everything that happened, and cuts all connections and calls in flight.
func (g *Rig[C, E]) Reset() { g.resetBut(nil) }

// resetBut spares the connection that asked for it, and so do its neighbours below.
func (g *Rig[C, E]) resetBut(spare net.Conn) {
	g.restartBut(0, spare)
	g.Locked(func() {
		g.reset()
		g.tell("reset", nil, nil)
	})
}

// Restart cuts every connection and every call in flight, as a restart of the platform does, and refuses calls for
// the time down. What the platform stores stays.
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

// drop closes the connections that cut returns, which is called with the mutex held, and those of the platform.
func (g *Rig[C, E]) drop(cut func() []net.Conn) {
	g.p.Mutex.Lock()
	conns := cut()
	if g.p.Detach != nil {
		conns = append(conns, g.p.Detach()...)
	}
	g.p.Mutex.Unlock()
	g.Host.Drop(conns)
}

// Serve answers requests on l until Close, and then returns nil. It closes l.
func (g *Rig[C, E]) Serve(l net.Listener) error { return g.Host.Serve(l) }

// Close ends Serve, cuts all connections and waits for what is in flight.
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
