package replica

import (
	"sync"
	"time"

	"telex/internal/chat"
)

// A replica regards its lease as over earlier than the store does, by the duration margin. Because of this margin, a
// call that the replica has just begun reaches the platform before another replica takes over.
const margin = 500 * time.Millisecond

// Lease is the right of this process to act as a replica. The clocks of this process and of the store may differ. In
// this process, the lease begins when the process sends its request for the lease. In the store, the lease begins
// later. So the lease ends in this process before it ends in the store.
type Lease struct {
	mu    sync.Mutex
	until time.Time
	timer *time.Timer
	lost  chan struct{}
	over  bool
}

// NewLease returns a lease that the store has granted. The parameter asked is the time when the process sent the
// request for the lease.
func NewLease(asked time.Time) *Lease {
	l := &Lease{lost: make(chan struct{})}
	l.Renewed(asked)
	return l
}

// Renewed prolongs the lease after the store has granted a renewal. The parameter asked is the time when the process
// sent the request for the renewal. Renewed does not prolong a lease that is already over.
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

// Holds reports whether the lease is valid, so that the process may call a platform now.
func (l *Lease) Holds() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.holds(time.Now()) {
		l.lose()
	}
	return !l.over
}

// holds reports whether the lease is valid by the monotonic clock and by the wall clock. The monotonic clock stops
// while a machine is suspended, and the wall clock may be set back.
func (l *Lease) holds(now time.Time) bool {
	return !l.over && now.Before(l.until) && now.Round(0).Before(l.until.Round(0))
}

func (l *Lease) expire() { l.Holds() }

// Lose ends the lease in this process. The gateway calls Lose when the store has refused the lease, and when the
// process gives up the lease.
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

// Requested returns the time when the process sent the newest request for the lease or its renewal that the store granted.
func (l *Lease) Requested() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until.Add(margin - chat.LeaseTime)
}

// Lost returns a channel that is closed when the lease is over.
func (l *Lease) Lost() <-chan struct{} { return l.lost }
