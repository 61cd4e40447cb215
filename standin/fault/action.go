package fault

import (
	"context"
	"time"

	"telex/standin/host"
)

// Step is a call right before its effect, with the fault that hits it.
type Step struct {
	Action string
	Delay  time.Duration // of the action Latency
	Cut    <-chan struct{}
	Hold   func() bool // holds the call; returns false if the call must not continue
}

// GoesOn waits as the action requires, and reports whether the call takes effect. It handles Latency, CutBefore, Hang
// and PauseBefore; with any other action, the call takes effect at once.
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
