package budget

import (
	"math"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
)

// forever is a wait that only an event can end.
const forever = time.Duration(math.MaxInt64)

// sweepEvery is how many requests pass between two searches for scopes that can be forgotten.
const sweepEvery = 1024

// Budget arbitrates the calls to one endpoint. Its methods are safe for concurrent use and
// never block.
type Budget struct {
	mu       sync.Mutex
	scopes   map[scopeKey]*scope
	waiting  []*Ticket   // in the order in which they are served
	timer    *time.Timer // wakes the dispatcher at due
	due      time.Time   // zero: only an event can help those who wait
	trips    roundTrips
	suspects []suspect
	requests uint64
}

// New returns a Budget with nothing spent.
func New() *Budget { return &Budget{scopes: make(map[scopeKey]*scope)} }

// Request queues a call and returns its ticket, which must be ended with Done or Cancel.
func (b *Budget) Request(c chat.Call) *Ticket {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.requests++
	if b.requests%sweepEvery == 0 {
		b.sweep(now)
	}
	if !b.due.IsZero() && !now.Before(b.due) {
		b.dispatch(now) // those whose time has come go first
	}
	t := b.ticket(c, now)
	d, _ := t.wait(now)
	if d <= 0 {
		t.grant(now)
		return t
	}
	// Whoever waits can't go yet, so that the queue need not be looked through.
	i, _ := slices.BinarySearchFunc(b.waiting, t, compare)
	b.waiting = slices.Insert(b.waiting, i, t)
	if d < forever && (b.due.IsZero() || now.Add(d).Before(b.due)) {
		b.arm(now, d)
	}
	return t
}

// dispatch grants what can be granted, in order, and arranges to be called again when the
// next ticket may become ready. A scope that has no room for one call has none for a less
// urgent one either, so going through the queue in order is fair, and what the endpoint holds
// ends the search for all calls of these kinds.
func (b *Budget) dispatch(now time.Time) {
	next := forever
	var held chat.Op
	b.waiting = slices.DeleteFunc(b.waiting, func(t *Ticket) bool {
		if t.call.Op&held != 0 {
			return false
		}
		d, ops := t.wait(now)
		if d <= 0 {
			t.grant(now)
			return true
		}
		next = min(next, d)
		held |= ops
		return false
	})
	b.arm(now, next)
}

// arm sets the timer to d from now.
func (b *Budget) arm(now time.Time, d time.Duration) {
	switch {
	case d == forever:
		b.due = time.Time{}
		if b.timer != nil {
			b.timer.Stop()
		}
		return
	case b.timer == nil:
		b.timer = time.AfterFunc(d, b.wake)
	default:
		b.timer.Reset(d)
	}
	b.due = now.Add(d)
}

func (b *Budget) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dispatch(time.Now())
}

// sweep forgets the scopes that hold no information, so that memory follows activity.
func (b *Budget) sweep(now time.Time) {
	for k, s := range b.scopes {
		if s.idle(now) {
			delete(b.scopes, k)
		}
	}
}
