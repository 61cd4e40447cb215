package rig

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"telex/standin/fault"
	"telex/standin/host"
)

// Call is what the calls of all platforms have. A platform's own embeds it.
type Call struct {
	At time.Time `json:"at"` // arrival of the request.
	// Done is when the answer was written, or the connection cut; zero before.
	Done   time.Time `json:"done,omitzero"`
	Method string    `json:"method"` // its name; see the platform's package comment.
	// Status is the HTTP status of the answer, 0 when the connection was cut.
	Status     int     `json:"status"`
	RetryAfter float64 `json:"retry_after,omitempty"` // seconds, in a 429.
	// Effect tells whether the call took effect, whatever the client was told.
	Effect bool `json:"effect"`
	// Fault is the action of the fault that hit the call.
	Fault string `json:"fault,omitempty"`
}

// Calls returns every call so far, in the order of arrival. It is a copy.
func (g *Rig[C, E]) Calls() []C {
	g.p.Mutex.Lock()
	defer g.p.Mutex.Unlock()
	list := make([]C, len(g.calls))
	for i, c := range g.calls {
		list[i] = *c
	}
	return list
}

// Answer records a call, lets it take effect with run, and answers it, bent by the fault that hits it. What is
// refused has its answer already: it has no effect, and no fault bends it. Run is called without the mutex.
func (g *Rig[C, E]) Answer(w http.ResponseWriter, r *http.Request, c *C, cut <-chan struct{}, refused *Answer, run func() Answer) {
	g.Exchange(r.Context(), c, cut, refused, run, func(a Answer) { g.Respond(w, r, a, cut) })
}

// Exchange is Answer for a call over a connection that carries many, such as a WebSocket. It calls send once, with the
// answer, whose status Gone means that the connection is to be dropped. When send returns, the client has the answer.
func (g *Rig[C, E]) Exchange(ctx context.Context, c *C, cut <-chan struct{}, refused *Answer, run func() Answer, send func(Answer)) {
	rule := g.record(c)
	var a Answer
	if refused != nil {
		a, rule = *refused, nil
	} else {
		a = g.perform(ctx, c, rule, cut, run)
	}
	g.finish(ctx, c, rule, a, cut, send)
}

// Admit records a connection that a client opens, and reports whether it may: else a fault has answered, or allow
// has, which returns nil when nothing speaks against it.
func (g *Rig[C, E]) Admit(w http.ResponseWriter, r *http.Request, c *C, cut <-chan struct{}, latency time.Duration, allow func() *Answer) bool {
	rule := g.record(c)
	if !host.Pause(latency/2, cut) {
		panic(http.ErrAbortHandler)
	}
	a, refused := g.before(r.Context(), c, rule, cut)
	if !refused {
		if no := allow(); no != nil {
			a, refused = *no, true
		}
	}
	if refused {
		g.finish(r.Context(), c, rule, a, cut, func(a Answer) { g.Respond(w, r, a, cut) })
	}
	return !refused
}

// record counts a call and finds the fault that hits it.
func (g *Rig[C, E]) record(c *C) *fault.Fault[C] {
	g.p.Mutex.Lock()
	defer g.p.Mutex.Unlock()
	g.calls = append(g.calls, c)
	g.Counted.Calls++
	g.Counted.ByMethod[g.p.Call(c).Method]++
	return g.Match(c)
}

// perform waits, lets the call take effect, and shapes the answer.
func (g *Rig[C, E]) perform(ctx context.Context, c *C, f *fault.Fault[C], cut <-chan struct{}, run func() Answer) Answer {
	half := g.p.Latency / 2
	if !host.Pause(half, cut) {
		return Answer{}
	}
	a, done := g.before(ctx, c, f, cut)
	if !done {
		if a = run(); a.Status != Gone {
			a = g.after(c, f, a, cut)
		}
	}
	if a.Status == Gone || !host.Pause(half, cut) {
		return Answer{}
	}
	return a
}

// finish sends the answer and writes the record of the call.
func (g *Rig[C, E]) finish(ctx context.Context, c *C, f *fault.Fault[C], a Answer, cut <-chan struct{}, send func(Answer)) {
	var attrs []slog.Attr
	g.Locked(func() {
		common := g.p.Call(c)
		common.Done, common.Status, common.RetryAfter = time.Now(), a.Status, a.RetryAfter
		g.Counted.ByStatus[a.Status]++
		if a.Status == http.StatusTooManyRequests {
			g.Counted.TooManyRequests++
		}
		attrs = append([]slog.Attr{slog.String("method", common.Method), slog.Int("status", a.Status)}, g.p.Finish(c, a)...)
		g.tell("call", c, nil)
	})
	g.p.Log.LogAttrs(ctx, slog.LevelDebug, "call", attrs...)
	send(a)
	if f != nil && f.Action == fault.PauseAnswered {
		g.hold(c, f, fault.Answered, cut)
	}
}

// Respond writes an answer or drops the connection.
func (g *Rig[C, E]) Respond(w http.ResponseWriter, r *http.Request, a Answer, cut <-chan struct{}) {
	if a.Status == Gone {
		panic(http.ErrAbortHandler)
	}
	switch err := a.write(r.Context(), w, cut); {
	case errors.Is(err, errBroken):
		panic(http.ErrAbortHandler)
	case err != nil:
		g.p.Log.Debug("answer", slog.Any("error", err))
	}
}
