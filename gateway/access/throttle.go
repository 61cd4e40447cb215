package access

import (
	"sync"
	"time"
)

// maxThrottled bounds what a Throttle remembers.
const maxThrottled = 1024

// Throttle remembers for a while that something was done about somebody, so that it is not done again at once.
type Throttle struct {
	every time.Duration
	mu    sync.Mutex
	last  map[string]time.Time
}

// NewThrottle returns a throttle that lets something be done once in a while.
func NewThrottle(every time.Duration) *Throttle {
	return &Throttle{every: every, last: make(map[string]time.Time)}
}

// Allow reports whether something was not done for a while, and marks it as done.
func (t *Throttle) Allow(about string) bool { return !t.Recent(about) && t.Mark(about) }

// Recent reports whether it was done a while ago at most.
func (t *Throttle) Recent(about string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.last[about]
	return ok && time.Since(last) < t.every
}

// Mark marks something as done now, and reports false when too much is remembered already.
func (t *Throttle) Mark(about string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if len(t.last) >= maxThrottled {
		for k, last := range t.last {
			if now.Sub(last) >= t.every {
				delete(t.last, k)
			}
		}
	}
	if _, known := t.last[about]; !known && len(t.last) >= maxThrottled { // a crowd: better silent than without bound
		return false
	}
	t.last[about] = now
	return true
}
