package fault

import (
	"context"
	"time"

	"telex/standin/host"
)

// Step describes a call right before it takes effect, and the fault that hits the call.
type Step struct {
	Action string
	Delay  time.Duration // delay of the action Latency
	Cut    <-chan struct{}
	Hold   func() bool // waits while the call is held; returns false if the call must not continue
}

// GoesOn waits as the action requires, and reports whether the call takes effect. GoesOn handles the actions Latency,
// CutBefore, Hang and PauseBefore. With any other action, the call takes effect at once.
func (s Step) GoesOn(ctx context.Context) bool {
	switch s.Action {
	case Latency:
		return host.Pause(s.Delay, s.Cut)
	case CutBefore:
		return false
	case Hang:
		select {
		case <-ctx.Done():
		case <-s.Cut:
		}
		return false
	case PauseBefore:
		return s.Hold()
	}
	return true
}
