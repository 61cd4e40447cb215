package fault

import (
	"context"
	"time"

	"telex/standin/host"
)

// Step is a call at the point where its effect would come, hit by a fault.
type Step struct {
	Action string
	Delay  time.Duration // of Latency.
	Cut    <-chan struct{}
	Hold   func() bool // holds the call; false when it does not go on.
}

// GoesOn waits as the action says, and reports whether the call takes effect. Of an action that is not among
// Latency, CutBefore, Hang and PauseBefore it knows nothing: the call goes on at once.
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
