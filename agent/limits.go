package agent

import (
	"context"
	"errors"
	"time"
)

// Limits limit the time, the model calls and the tool calls of a turn. Zero means no limit.
type Limits struct {
	// Turn is the maximum duration of a turn. The time in which the turn waits for a person's decision, or for the provider's
	// Retry-After, does not count.
	Turn time.Duration
	// FirstToken is the maximum time from a request to the first piece of the model's answer.
	FirstToken time.Duration
	// Silence is the maximum time between two pieces of an answer. Empty deltas and keep-alives do not count as pieces of an
	// answer. If the provider can't stream, only Turn limits the wait for an answer.
	Silence time.Duration
	// ModelCalls is the maximum number of requests of a turn that reach a provider, including refused and repeated ones. The
	// last request offers no tools except Turn.ClientTools, so that the model answers.
	ModelCalls int
	// ToolCalls is the maximum number of tool calls, including denied calls and calls with invalid arguments. When the limit
	// is reached, the model is asked once more, without tools except Turn.ClientTools, so that it answers.
	ToolCalls int
}

// Reasons why a turn or an attempt ends early.
var (
	errTurnLimit  = errors.New("the turn took too long")
	errFirstToken = errors.New("the model did not begin its answer in time")
	errSilence    = errors.New("the model was silent for too long")
	errCallLimit  = errors.New("the turn needs more model calls than limits.model_calls allows")
)

// clock ends a context when a time limit is reached. All methods of a clock must be called by the same goroutine.
type clock struct {
	timer     *time.Timer // nil: there is no limit
	remaining time.Duration
	resumed   time.Time
	cause     error // the cause with which the context ends
	cancel    context.CancelCauseFunc
}

// startClock returns a context that ends with cause after limit, not counting pauses. If limit is 0, the clock never ends the
// context. stop releases the resources of the clock.
func startClock(ctx context.Context, limit time.Duration, cause error) (_ context.Context, c *clock, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c = &clock{remaining: limit, cause: cause, cancel: cancel}
	c.resume()
	return ctx, c, func() {
		c.pause()
		cancel(nil)
	}
}

func (c *clock) pause() {
	if c.timer != nil && c.timer.Stop() {
		c.remaining = max(1, c.remaining-time.Since(c.resumed))
	}
}

func (c *clock) resume() {
	c.resumed = time.Now()
	switch cause := c.cause; {
	case c.remaining == 0:
	case c.timer == nil:
		c.timer = time.AfterFunc(c.remaining, func() { c.cancel(cause) })
	default:
		c.timer.Reset(c.remaining)
	}
}

// restart lets a paused clock run again, with the given limit and cause.
func (c *clock) restart(limit time.Duration, cause error) {
	if c.remaining = limit; !errors.Is(c.cause, cause) {
		c.cause, c.timer = cause, nil
	}
	c.resume()
}

// Sleep waits for d. If ctx ends earlier, Sleep returns the cause of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
