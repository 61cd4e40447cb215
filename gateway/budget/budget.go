package budget

import (
	"math"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
)

// untilEvent stands for a wait that only an event ends, such as the end of another call. No timer ends a wait of
// untilEvent.
const untilEvent = time.Duration(math.MaxInt64)

// sweepEvery is the number of requests between two sweeps of unused scopes.
const sweepEvery = 1024

// Budget decides when each call to one endpoint may be made. The methods of Budget are safe for concurrent use and
// never block.
type Budget struct {
	mu       sync.Mutex
	scopes   map[scopeKey]*scope
	waiting  []*Ticket   // tickets that wait, in the order in which they are granted
	timer    *time.Timer // calls dispatch at the time in due
	due      time.Time   // zero: only an event, such as the end of a call, can make room for waiting tickets
	trips    roundTrips
	suspects []suspect
	requests uint64
	shares   *shares // nil: no other process makes calls for the endpoint
}

// New returns a Budget that has not granted any call.
func New() *Budget { return &Budget{scopes: make(map[scopeKey]*scope)} }

// Request queues a call and returns its ticket. The caller must end the ticket with Done, Lost or Cancel.
func (b *Budget) Request(c chat.Call) *Ticket {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.requests++
	if b.requests%sweepEvery == 0 {
		b.sweep(now)
	}
	if !b.due.IsZero() && !now.Before(b.due) {
		b.dispatch(now) // grant the waiting tickets that have become ready, before the new ticket
	}
	t := b.ticket(c, now)
	d, _ := t.wait(now)
	if d <= 0 {
		t.grant(now)
		return t
	}
	// No other waiting ticket can be granted yet, so dispatch need not run.
	i, _ := slices.BinarySearchFunc(b.waiting, t, compare)
	b.waiting = slices.Insert(b.waiting, i, t)
	if d < untilEvent && (b.due.IsZero() || now.Add(d).Before(b.due)) {
		b.setTimer(now, d)
	}
	return t
}

// dispatch grants ready tickets in the order of the queue, and sets the timer to the time when the next ticket may
// become ready. A less urgent call can't overtake a more urgent call in the same scope: a scope without room for the
// more urgent call has no room for the less urgent call either. Once the endpoint's limits block a kind of call, the
// method dispatch skips all later tickets of that kind.
func (b *Budget) dispatch(now time.Time) {
	next := untilEvent
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
	b.setTimer(now, next)
}

// setTimer sets the timer to d from now.
func (b *Budget) setTimer(now time.Time, d time.Duration) {
	switch {
	case d == untilEvent:
		b.due = time.Time{}
		if b.timer != nil {
			b.timer.Stop()
		}
		return
	case b.timer == nil:
		b.timer = time.AfterFunc(d, b.onTimer)
	default:
		b.timer.Reset(d)
	}
	b.due = now.Add(d)
}

func (b *Budget) onTimer() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dispatch(time.Now())
}

// sweep removes scopes whose state no longer affects any call, so that memory use does not grow without bound.
func (b *Budget) sweep(now time.Time) {
	for k, s := range b.scopes {
		if s.idle(now) {
			delete(b.scopes, k)
		}
	}
}
