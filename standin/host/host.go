package host

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Host manages the connections of one stand-in. New creates a Host.
type Host struct {
	handler http.Handler
	log     *slog.Logger
	closed  chan struct{} // closed by End.

	mu        sync.Mutex // guards the following fields; no goroutine waits while it holds mu
	ended     bool
	cut       chan struct{} // closed and replaced by Cut, Restart and End.
	downUntil time.Time
	// refuseUntil is the end of an outage that refuses connections.
	refuseUntil time.Time
	inflight    sync.WaitGroup // call Add only under mu, and only while ended is false
	servers     []*http.Server
	doors       []*door
	conns       map[net.Conn]struct{}
}

// New returns a host for a handler, which must call Enter for each request. New starts no goroutine.
func New(handler http.Handler, log *slog.Logger) *Host {
	return &Host{
		handler: handler, log: log, closed: make(chan struct{}), cut: make(chan struct{}), conns: make(map[net.Conn]struct{}),
	}
}

// Serve answers requests on l until Close is called, then closes l and returns nil.
func (h *Host) Serve(l net.Listener) error {
	srv := &http.Server{
		Handler:           h.handler,
		ReadHeaderTimeout: time.Minute,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		ConnState: h.track,
		ErrorLog:  slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
	}
	h.mu.Lock()
	if h.ended {
		h.mu.Unlock()
		return errors.Join(http.ErrServerClosed, l.Close())
	}
	d := newDoor(h, l)
	h.servers, h.doors = append(h.servers, srv), append(h.doors, d)
	h.mu.Unlock()
	err := srv.Serve(d)
	if h.Ended() { // after End, an error of the listener is expected
		return nil
	}
	return err
}

type connKey struct{}

// Conn returns the connection of a request that arrived through Serve, or nil.
func Conn(r *http.Request) net.Conn {
	c, _ := r.Context().Value(connKey{}).(net.Conn)
	return c
}

func (h *Host) track(c net.Conn, state http.ConnState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch state {
	case http.StateNew:
		h.conns[c] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(h.conns, c)
	case http.StateActive, http.StateIdle:
	}
}

// Enter begins a request that ends with Leave. cut is closed when the request's connection must be dropped. down means
// that the host imitates a restart, in which the platform is unavailable. After End or Close, Enter panics with
// http.ErrAbortHandler.
func (h *Host) Enter() (cut <-chan struct{}, down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		panic(http.ErrAbortHandler)
	}
	h.inflight.Add(1)
	return h.cut, time.Now().Before(h.downUntil)
}

// Leave ends a request.
func (h *Host) Leave() { h.inflight.Done() }

// Go runs work that does not belong to a request and for which Close waits. After End or Close, Go does nothing.
func (h *Host) Go(work func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.inflight.Go(work)
	}
}

// Cut cuts all running requests, and returns all connections except spare, which stays open. The caller must release
// its locks and then pass the returned connections to Drop.
func (h *Host) Cut(spare net.Conn) []net.Conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cutLocked()
	var conns []net.Conn
	for c := range h.conns {
		if c != spare {
			conns = append(conns, c)
		}
	}
	return conns
}

func (h *Host) cutLocked() {
	close(h.cut)
	h.cut = make(chan struct{})
}

// Restart does what Cut does, and makes the host unavailable for the duration down.
func (h *Host) Restart(down time.Duration, spare net.Conn) []net.Conn {
	h.mu.Lock()
	h.downUntil = time.Now().Add(down)
	h.mu.Unlock()
	return h.Cut(spare)
}

// Drop closes connections. Drop ignores nil elements.
func (h *Host) Drop(conns []net.Conn) {
	for _, c := range conns {
		if c == nil { // the connection belongs to another server that uses the handler
			continue
		}
		if err := c.Close(); err != nil {
			h.log.Debug("close connection", slog.Any("error", err))
		}
	}
}

// End is the first step of Close: it refuses new requests and cuts running ones, but does not wait for them. A caller
// uses End if it must stop work of its own at the same moment, before it calls Close.
func (h *Host) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.ended = true
		close(h.closed)
		h.cutLocked()
	}
}

// Ended reports whether End or Close was called.
func (h *Host) Ended() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended
}

// Close ends Serve, closes all its connections and waits for running requests.
func (h *Host) Close() error {
	h.End()
	h.mu.Lock()
	servers := h.servers
	h.servers = nil
	h.mu.Unlock()
	var errs []error
	for _, srv := range servers {
		errs = append(errs, srv.Close())
	}
	h.inflight.Wait()
	return errors.Join(errs...)
}

// Pause waits for d. Pause returns false if cut is closed before d has passed. Pause does not watch the request's
// context, because a call takes effect even if the client has disconnected meanwhile.
func Pause(d time.Duration, cut <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-cut:
		return false
	}
}
