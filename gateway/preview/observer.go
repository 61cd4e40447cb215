package preview

import (
	"time"

	"telex/internal/chat"
)

// Observer receives events of the replies of one endpoint, for metrics. The methods of an Observer must not block and
// must be safe for concurrent use.
type Observer interface {
	// Called reports that a call has ended. The parameter err is the error that the adapter returned.
	Called(op chat.Op, took time.Duration, err error)
	// Waited reports how long a call waited until the budget granted it, or until the caller cancelled it.
	Waited(class chat.Class, d time.Duration)
	// Shown reports that a preview became visible. The parameter age is the time since the arrival of the oldest text that
	// people saw first in this preview.
	Shown(age time.Duration)
	// Finished reports that a final became visible. The parameter after is the time since the reply's ending was decided.
	Finished(after time.Duration)
}

// unobserved is the Observer of endpoints without an Observer of their own. unobserved ignores all events.
type unobserved struct{}

func (unobserved) Called(chat.Op, time.Duration, error) {}
func (unobserved) Waited(chat.Class, time.Duration)     {}
func (unobserved) Shown(time.Duration)                  {}
func (unobserved) Finished(time.Duration)               {}

// Waiting is a call that waits for the budget.
type Waiting struct {
	Call  chat.Call
	Since time.Time // zero: no call waits
}

// Waiting returns the reply's call that waits for the budget. If no call waits, Waiting returns the zero value.
func (s *Slot) Waiting() Waiting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// setWaiting records which call waits for the budget.
func (s *Slot) setWaiting(w Waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = w
}
