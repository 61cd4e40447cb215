package replica

import (
	"sync"
	"time"

	"telex/internal/chat"
)

// margin is how much earlier a replica gives up its lease than the store does: a call that has just begun must have reached
// the platform before another replica takes over.
const margin = 500 * time.Millisecond

// Lease is the right of this process to act as a replica. It needs no common clock with the store. It counts from
// the time when the request was sent, and the store counts from a later time.
type Lease struct {
	mu    sync.Mutex
	until time.Time
	timer *time.Timer
	lost  chan struct{}
	over  bool
}

// NewLease returns a granted lease. asked is the time when the request for it was sent.
func NewLease(asked time.Time) *Lease {
	l := &Lease{lost: make(chan struct{})}
	l.Renewed(asked)
	return l
}

// Renewed prolongs the lease after a request that was sent at asked. A lost lease stays lost.
func (l *Lease) Renewed(asked time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.holds(time.Now()) && l.timer != nil {
		l.lose()
		return
	}
	l.until = asked.Add(chat.LeaseTime - margin)
	left := time.Until(l.until)
	if l.timer == nil {
		l.timer = time.AfterFunc(left, l.expire)
		return
	}
	l.timer.Reset(left)
}

// Holds reports whether the process may call a platform now.
func (l *Lease) Holds() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.holds(time.Now()) {
		l.lose()
	}
	return !l.over
}

// holds compares two clocks: the monotonic one stands still while a machine is suspended, and the wall clock may be set
// back.
func (l *Lease) holds(now time.Time) bool {
	return !l.over && now.Before(l.until) && now.Round(0).Before(l.until.Round(0))
}

func (l *Lease) expire() { l.Holds() }

// Lose ends the lease: the store refused it, or the process gives it up.
func (l *Lease) Lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose()
}

func (l *Lease) lose() {
	if !l.over {
		l.over = true
		close(l.lost)
	}
	l.timer.Stop()
}

// Requested returns when the newest granted request for the lease was sent.
func (l *Lease) Requested() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until.Add(margin - chat.LeaseTime)
}

// Lost returns a channel that is closed when the lease is over.
func (l *Lease) Lost() <-chan struct{} { return l.lost }
