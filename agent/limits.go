package agent

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Limits bound a turn. Zero means no limit.
type Limits struct {
	// Turn is the time a turn may take. Its clock stops while a wait that the provider asked
	// for (Retry-After), or for a person, goes on.
	Turn time.Duration
	// FirstToken is how long a model may take from the request to the first piece of its answer.
	FirstToken time.Duration
	// Silence is how long the answer may then stand still. Only what makes it grow counts: empty deltas and
	// keep-alives are silence. Where the provider can't stream, only Turn bounds the wait.
	Silence time.Duration
	// ModelCalls is how many attempts may reach a provider, whatever comes of them: refused ones and repeated
	// ones too. The last one gets no tools.
	ModelCalls int
	// ToolCalls is how many tools may be called, whatever comes of it: a call that a person denied, or that the
	// model got wrong, is one too. Then the model is asked once more, without tools.
	ToolCalls int
}

// The limits as causes of a cancelled context.
var (
	errTurnLimit  = errors.New("the turn took too long")
	errFirstToken = errors.New("the model did not begin its answer in time")
	errSilence    = errors.New("the model was silent for too long")
	errCallLimit  = errors.New("the turn needs more model calls than it may make")
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

// silenceError is an attempt that a limit on silence ended.
type silenceError struct {
	cause  error // errFirstToken or errSilence
	limits Limits
	err    error // what the provider had told: its usage
}

func (e *silenceError) Error() string {
	if errors.Is(e.cause, errFirstToken) {
		return fmt.Sprintf("%v (limits.first_token: %v)", e.cause, e.limits.FirstToken)
	}
	return fmt.Sprintf("%v (limits.silence: %v)", e.cause, e.limits.Silence)
}

func (e *silenceError) Is(target error) bool { return errors.Is(e.cause, target) }
func (e *silenceError) Unwrap() error        { return e.err }

// silenceWatch ends a call's context when the answer stands still for too long.
type silenceWatch struct {
	timer   *time.Timer // nil: no limit holds now
	silence time.Duration
	cancel  context.CancelCauseFunc
	began   bool
}

// watchSilence returns a context that ends with errFirstToken as its cause when nothing came for first, or with
// errSilence when nothing more came for silence.
func watchSilence(ctx context.Context, first, silence time.Duration) (_ context.Context, w *silenceWatch, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w = &silenceWatch{silence: silence, cancel: cancel}
	if first > 0 {
		w.timer = time.AfterFunc(first, func() { cancel(errFirstToken) })
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
	switch {
	case w.began && w.timer != nil:
		w.timer.Reset(w.silence)
	case !w.began && w.silence > 0:
		w.timer = time.AfterFunc(w.silence, func() { w.cancel(errSilence) })
	case !w.began:
		w.timer = nil
	}
	w.began = true
}

// Sleep waits for d, or less when ctx ends; then it returns the cause.
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
