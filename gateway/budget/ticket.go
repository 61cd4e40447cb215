package budget

import (
	"cmp"
	"slices"
	"time"

	"telex/internal/chat"
)

// Ticket is the place of one call in the Budget's queue. The caller waits for Ready, makes the call to the platform,
// and then calls Done or Lost. If the caller no longer wants to make the call, it calls Cancel. Only the first call of
// Done, Lost or Cancel has an effect.
type Ticket struct {
	budget *Budget
	call   chat.Call
	since  time.Time // time when the content of the call was written, on the monotonic clock
	seq    uint64
	ready  chan struct{}
	scopes []*scope
	meters []*meter // meters of the limits toward which the call counts
	state  ticketState
	began  time.Time // time when the call was granted

	scopeArray [4]*scope // backing arrays of scopes and meters, so that a ticket needs only one allocation
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
		// If c.Since comes from the store, it is a wall-clock time, and the wall clock may jump.
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

// Ready returns a channel that is closed when the call may be made. When the channel is closed, the caller must make
// the call at once.
func (t *Ticket) Ready() <-chan struct{} { return t.ready }

// Done records that the call has ended with a response. If the platform refused the call or reported limits, the caller must
// call Block or UpdateLimits first. If Done came first, the Budget could at once grant another call that the platform refuses.
func (t *Ticket) Done() { t.leave(t.answered) }

// Lost records that the call has ended without a response. The call may have arrived at the platform just before its
// end, so the meters count it from its end.
func (t *Ticket) Lost() { t.leave(t.arrive) }

// Cancel removes the ticket from the queue. If the call was already granted, the Budget may grant another call in its place.
func (t *Ticket) Cancel() { t.leave(t.undo) }

// leave ends the ticket. If the call was granted, the method leave also calls the parameter end.
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

// wait returns how long ticket t must wait until all its scopes have room. wait returns 0 if the call may be made now, and
// untilEvent if the wait ends only with an event, such as the end of another call. If only the endpoint has no room, but the
// message, thread and chat have room, the result held contains the kinds of calls that the endpoint's limits block. The kinds
// of calls in the result held are blocked for all later tickets in the queue, too.
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

// due returns the time from which the ticket is as urgent as a first display.
func (t *Ticket) due() time.Time {
	if t.call.Class == chat.ClassPreview {
		return t.since.Add(patience)
	}
	return t.since
}

// headroom returns how many calls out of the given capacity the ticket t must leave to more urgent calls. If the parameter
// capacity is 1, headroom returns 0.
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

// answered ends a granted call whose response has arrived now.
func (t *Ticket) answered(now time.Time) {
	trips := &t.budget.trips
	trips.add(now.Sub(t.began), now)
	t.end(now.Add(-trips.lowerBound(now)), now)
}

// arrive ends a granted call that had no response. A call without a response may have arrived at the platform just now.
func (t *Ticket) arrive(now time.Time) { t.end(now, now) }

// end ends a granted call. arrived is the latest possible time of its arrival at the platform.
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

// compare orders tickets by urgency: finals first, then first displays and previews, then all others. Within each of these
// groups, the function compare orders tickets by due time, and then by the order in which they were requested.
func compare(a, b *Ticket) int {
	return cmp.Or(
		cmp.Compare(a.tier(), b.tier()),
		a.due().Compare(b.due()),
		cmp.Compare(a.seq, b.seq),
	)
}

// tier returns the class of a call for the order of the queue. Previews have the class of first displays, since only
// their due time is later.
func (t *Ticket) tier() chat.Class {
	if t.call.Class == chat.ClassPreview {
		return chat.ClassFirst
	}
	return t.call.Class
}
