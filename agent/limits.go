package agent

import (
	"context"
	"errors"
	"time"
)

// Limits bound a turn. Zero means no limit.
type Limits struct {
	// Turn is the time a turn may take. Its clock is paused while the turn waits for a person, or for as long as the
	// provider asked (Retry-After).
	Turn time.Duration
	// FirstToken is how long a model may take from the request to the first piece of its answer.
	FirstToken time.Duration
	// Silence is how long the answer may pause after its first piece. Empty deltas and keep-alives count as silence. If
	// the provider can't stream, only Turn bounds the wait.
	Silence time.Duration
	// ModelCalls is how many attempts may reach a provider, including refused and repeated ones. The last one gets
	// no tools.
	ModelCalls int
	// ToolCalls is how many tools may be called, including calls that a person denied or that the model got wrong. At
	// this limit, the model is asked once more, without tools.
	ToolCalls int
}

// Causes of a cancelled context.
var (
	errTurnLimit  = errors.New("the turn took too long")
	errFirstToken = errors.New("the model did not begin its answer in time")
	errSilence    = errors.New("the model was silent for too long")
	errCallLimit  = errors.New("the turn needs more model calls than limits.model_calls allows")
)

// clock ends a context when its time is used up. Its methods are called from one goroutine.
type clock struct {
	timer     *time.Timer // nil: no limit holds
	remaining time.Duration
	resumed   time.Time
	cause     error // with which the context ends
	cancel    context.CancelCauseFunc
}

// startClock returns a context that ends with cause after limit, not counting pauses. Without a limit, it does not end. stop
// releases its resources.
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

// restart gives a paused clock another limit and cause.
func (c *clock) restart(limit time.Duration, cause error) {
	if c.remaining = limit; !errors.Is(c.cause, cause) {
		c.cause, c.timer = cause, nil
	}
	c.resume()
}

// Sleep waits for d. If ctx ends earlier, it returns the cause.
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
