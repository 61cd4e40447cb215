package access

import (
	"sync"
	"time"
)

// maxThrottled is the maximum number of keys that a Throttle remembers.
const maxThrottled = 1024

// Throttle limits how often an action is done, separately for each key, such as a person.
type Throttle struct {
	every time.Duration
	mu    sync.Mutex
	last  map[string]time.Time
}

// NewThrottle returns a throttle that allows an action once per interval and key.
func NewThrottle(every time.Duration) *Throttle {
	return &Throttle{every: every, last: make(map[string]time.Time)}
}

// Allow reports whether the action may be done now for a key. If Allow returns true, it has recorded the action as done.
func (t *Throttle) Allow(about string) bool { return !t.Recent(about) && t.Mark(about) }

// Recent reports whether the action was done for the key less than one interval ago.
func (t *Throttle) Recent(about string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.last[about]
	return ok && time.Since(last) < t.every
}

// Mark records that the action is done now for the key. Mark returns false if the Throttle has no space for a new key.
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
	if _, known := t.last[about]; !known && len(t.last) >= maxThrottled { // skip the action, so that memory stays bounded
		return false
	}
	t.last[about] = now
	return true
}
