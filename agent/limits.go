package agent

import (
	"context"
	"errors"
	"time"
)

// Limits bound a turn. Zero means no limit.
type Limits struct {
	// Turn is the time a turn may take. Its clock stops while a wait that the provider asked
	// for (Retry-After), or for a person, goes on.
	Turn time.Duration
	// Silence is how long a streaming provider may send nothing, from the request to the first
	// data and from data to data; comments (keep-alives) are nothing. An unstreamed answer
	// comes all at once after a long silence, so that only Turn bounds it.
	Silence time.Duration
	// ModelCalls is how many answers may be asked for. An attempt that the provider refused
	// before it wrote anything is not counted; asking again after a broken stream is. The last one gets
	// no tools.
	ModelCalls int
	// ToolCalls is how many tools may be called, whatever comes of it: a call that a person denied, or that the
	// model got wrong, is one too. Then the model is asked once more, without tools.
	ToolCalls int
}

// The limits as causes of a cancelled context.
var (
	errTurnLimit = errors.New("the turn took too long")
	errSilence   = errors.New("the model was silent for too long")
	errCallLimit = errors.New("the turn needs more model calls than it may make")
)

// turnClock ends a turn's context when its time is used up. Its methods are called from the
// turn's goroutine only.
type turnClock struct {
	timer   *time.Timer // nil: no limit
	left    time.Duration
	resumed time.Time
}

// startClock returns a context that ends after limit, not counting pauses, with errTurnLimit
// as its cause. stop frees what it holds.
func startClock(ctx context.Context, limit time.Duration) (_ context.Context, c *turnClock, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c = &turnClock{left: limit, resumed: time.Now()}
	if limit > 0 {
		c.timer = time.AfterFunc(limit, func() { cancel(errTurnLimit) })
	}
	return ctx, c, func() {
		c.pause()
		cancel(nil)
	}
}

func (c *turnClock) pause() {
	if c.timer != nil && c.timer.Stop() {
		c.left -= time.Since(c.resumed)
	}
}

func (c *turnClock) resume() {
	if c.timer != nil {
		c.resumed = time.Now()
		c.timer.Reset(c.left)
	}
}

// silenceWatch ends a call's context when nothing is heard for a while.
type silenceWatch struct {
	timer *time.Timer // nil: no limit
	limit time.Duration
}

// watchSilence returns a context that ends with errSilence as its cause when the watch was
// not told of anything for limit.
func watchSilence(ctx context.Context, limit time.Duration) (_ context.Context, w *silenceWatch, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w = &silenceWatch{limit: limit}
	if limit > 0 {
		w.timer = time.AfterFunc(limit, func() { cancel(errSilence) })
	}
	return ctx, w, func() {
		w.hear()
		cancel(nil)
	}
}

// hear stops the watch while something that came is dealt with: a slow reader of events is
// not the model's silence.
func (w *silenceWatch) hear() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// listen starts the watch anew.
func (w *silenceWatch) listen() {
	if w.timer != nil {
		w.timer.Reset(w.limit)
	}
}

// sleep waits for d, or less when ctx ends; then it returns ctx's cause.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
