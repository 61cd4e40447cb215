package budget

import (
	"cmp"
	"slices"
	"time"

	"telex/internal/chat"
)

// Ticket is a place in the queue. Its holder waits for Ready, makes the call, and calls Done or Lost; or it gives up
// with Cancel. Only the first of these three calls has an effect.
type Ticket struct {
	budget *Budget
	call   chat.Call
	since  time.Time // time from which the age of the content counts, on the monotonic clock
	seq    uint64
	ready  chan struct{}
	scopes []*scope
	meters []*meter // meters that count the call
	state  ticketState
	began  time.Time // time when it was granted

	scopeArray [4]*scope // backing arrays of the slices above, so that a ticket is one allocation
	meterArray [4]*meter
}

type ticketState uint8

const (
	waits ticketState = iota
	runs
	ended
)

// ticket returns a waiting ticket that is not in the queue yet.
func (b *Budget) ticket(c chat.Call, now time.Time) *Ticket {
	t := &Ticket{budget: b, call: c, since: now, seq: b.requests, ready: make(chan struct{})}
	if !c.Since.IsZero() {
		// A time from the store is in wall-clock time, which may jump.
		t.since = now.Add(-max(0, now.Sub(c.Since)))
	}
	t.scopes, t.meters = t.scopeArray[:0], t.meterArray[:0]
	for _, k := range keys(c) {
		s := b.scope(k)
		s.queued++
		t.scopes = append(t.scopes, s)
		for _, l := range c.Limits {
			if l.Scope == k.scope && l.Ops&c.Op != 0 {
				t.meters = append(t.meters, b.meter(s, l))
			}
		}
	}
	return t
}

// Ready is closed when the call may be made. The call must start at once.
func (t *Ticket) Ready() <-chan struct{} { return t.ready }

// Done records that the call has ended with a response. Block and UpdateLimits must be called first, so that no refused
// call is granted again.
func (t *Ticket) Done() { t.leave(t.answered) }

// Lost records that the call has ended without a response. Its end tells nothing about the way back: the call may have
// arrived only just now.
func (t *Ticket) Lost() { t.leave(t.arrive) }

// Cancel leaves the queue. If the call was granted meanwhile, its place becomes free again.
func (t *Ticket) Cancel() { t.leave(t.undo) }

// leave ends the ticket. If the call was granted, leave also calls end.
func (t *Ticket) leave(end func(now time.Time)) {
	b := t.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	switch t.state {
	case ended:
		return
	case waits:
		i := slices.Index(b.waiting, t)
		b.waiting = slices.Delete(b.waiting, i, i+1)
		for _, s := range t.scopes {
			s.queued--
		}
	case runs:
		for _, s := range t.scopes {
			s.running--
		}
		end(now)
	}
	t.state = ended
	if len(b.waiting) > 0 || !b.due.IsZero() {
		b.dispatch(now)
	}
}

// wait returns how long t must wait for the slowest of its scopes: 0 if it may go now, untilEvent if only an event can
// make room. If only the endpoint blocks it, wait also returns the kinds of calls that the endpoint blocks: these are
// blocked for all later tickets in the queue too.
func (t *Ticket) wait(now time.Time) (d time.Duration, held chat.Op) {
	for _, s := range t.scopes[1:] {
		d = max(d, s.wait(t, now))
	}
	endpoint := t.scopes[0]
	own := endpoint.wait(t, now)
	if own > 0 {
		held = t.call.Op
	}
	for _, m := range t.meters {
		w := m.wait(t, now)
		if m.scope != endpoint {
			d = max(d, w)
			continue
		}
		if own = max(own, w); w > 0 {
			held |= m.limit.Ops
		}
	}
	if d > 0 {
		held = 0
	}
	return max(d, own), held
}

// patience is the age of a preview's content at which its call becomes as urgent as a first display.
const patience = 30 * time.Second

// due returns the time from which the ticket is as urgent as any ticket except a final's.
func (t *Ticket) due() time.Time {
	if t.call.Class == chat.ClassPreview {
		return t.since.Add(patience)
	}
	return t.since
}

// headroom returns how many calls of a capacity t leaves to more urgent calls. A capacity of one can't be shared.
func (t *Ticket) headroom(capacity int, now time.Time) int {
	n := 0
	switch {
	case t.call.Class == chat.ClassPreview && now.Before(t.due()):
		n = 1
	case t.call.Class == chat.ClassTyping:
		n = 2
	}
	return max(0, min(n, capacity-1))
}

// grant lets the call begin.
func (t *Ticket) grant(now time.Time) {
	t.state, t.began = runs, now
	for _, m := range t.meters {
		m.take(t, now)
	}
	for _, s := range t.scopes {
		for _, a := range s.allowances {
			if a.ops&t.call.Op != 0 {
				a.take(s.running, now)
			}
		}
		s.queued--
		s.running++
	}
	close(t.ready)
}

// answered ends a granted call that had a response now.
func (t *Ticket) answered(now time.Time) {
	trips := &t.budget.trips
	trips.add(now.Sub(t.began), now)
	t.end(now.Add(-trips.lowerBound(now)), now)
}

// arrive ends a granted call that may have arrived only now.
func (t *Ticket) arrive(now time.Time) { t.end(now, now) }

// end ends a granted call; arrived is its latest possible arrival.
func (t *Ticket) end(arrived, now time.Time) {
	for _, m := range t.meters {
		m.end(t, arrived, now)
	}
}

// undo ends a granted call that was not made.
func (t *Ticket) undo(now time.Time) {
	for _, s := range t.scopes {
		for _, a := range s.allowances {
			if a.ops&t.call.Op != 0 {
				a.undo(now)
			}
		}
	}
	for _, m := range t.meters {
		m.undo(t)
	}
}

// compare orders tickets: finals, then first displays and previews by due time, then all others. Equally urgent
// tickets are ordered by arrival.
func compare(a, b *Ticket) int {
	return cmp.Or(
		cmp.Compare(a.tier(), b.tier()),
		a.due().Compare(b.due()),
		cmp.Compare(a.seq, b.seq),
	)
}

// tier returns the class of a call; previews are in the class of first displays.
func (t *Ticket) tier() chat.Class {
	if t.call.Class == chat.ClassPreview {
		return chat.ClassFirst
	}
	return t.call.Class
}
