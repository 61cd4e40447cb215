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

// Call contains the fields of a recorded call that all platforms have in common. The call type of each platform embeds
// this struct.
type Call struct {
	At time.Time `json:"at"` // arrival of the request
	// Done is the time when the answer was ready or the connection was dropped. While the call runs, Done is zero.
	Done   time.Time `json:"done,omitzero"`
	Method string    `json:"method"` // name of the called method; see the package comment of the platform's stand-in
	// Status is the HTTP status of the answer; 0 if the connection was dropped.
	Status     int     `json:"status"`
	RetryAfter float64 `json:"retry_after,omitempty"` // seconds that the client must wait; only in a 429
	// Effect is true if the call took effect, even if its answer was an error.
	Effect bool `json:"effect"`
	// Fault is the action of the fault that hit the call.
	Fault string `json:"fault,omitempty"`
}

// Calls returns a copy of all calls so far, in the order of arrival.
func (g *Rig[C, E]) Calls() []C {
	g.p.Mutex.Lock()
	defer g.p.Mutex.Unlock()
	list := make([]C, len(g.calls))
	for i, c := range g.calls {
		list[i] = *c
	}
	return list
}

// Answer records a call, executes it by calling the function run, and sends the answer. If a fault hits the call, the
// fault may change the effect and the answer. If refused is not nil, the call has no effect, and refused is the answer,
// which faults do not change. Answer does not hold the mutex when it calls the function run.
func (g *Rig[C, E]) Answer(w http.ResponseWriter, r *http.Request, c *C, cut <-chan struct{}, refused *Answer, run func() Answer) {
	g.Exchange(r.Context(), c, cut, refused, run, func(a Answer) { g.Respond(w, r, a, cut) })
}

// Exchange does the same as Answer for one of many calls over the same connection, such as a WebSocket. Exchange calls
// the function send once with the answer. If the answer's status is Gone, the function send must drop the connection.
// send must not return before it has sent the answer.
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

// Admit records that a client opens a connection, and reports whether the stand-in accepts the connection. allow
// returns nil to accept it, or an error answer. If a fault or the function allow refuses the connection, Admit sends
// the answer and returns false.
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

// record records a call and returns the fault that hits it.
func (g *Rig[C, E]) record(c *C) *fault.Fault[C] {
	g.p.Mutex.Lock()
	defer g.p.Mutex.Unlock()
	g.calls = append(g.calls, c)
	g.Counted.Calls++
	g.Counted.ByMethod[g.p.Call(c).Method]++
	return g.Match(c)
}

// perform waits, executes the call, and prepares the answer.
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

// finish sends the answer and completes the record of the call.
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
