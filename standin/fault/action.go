package fault

import (
	"context"
	"time"

	"telex/standin/host"
)

// Step is a call right before its effect, with the fault that hits it.
type Step struct {
	Action string
	Delay  time.Duration // of Latency.
	Cut    <-chan struct{}
	Hold   func() bool // holds the call; false if it must not continue
}

// GoesOn waits as the action requires, and reports whether the call takes effect. It handles Latency, CutBefore, Hang
// and PauseBefore; with other actions the call continues at once.
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
