package budget

import (
	"cmp"
	"math"
	"slices"
	"time"

	"telex/internal/chat"
)

const (
	// pledgeFor is how long the next call of a final may be in coming after the one before.
	pledgeFor = 500 * time.Millisecond
	// pledgeRuns bounds how long a call under way keeps what follows it: others need not wait for
	// one that hangs.
	pledgeRuns = 2 * time.Second
)

// pledge is what a final announced: so many calls follow the one that was granted.
type pledge struct {
	to    chat.Target
	since time.Time
	seq   uint64
	calls int
	until time.Time
}

// pledged returns how many calls are pledged to finals that go before t, and how long it takes
// until that may change without an event.
func (m *meter) pledged(t *Ticket, now time.Time) (calls int, lapse time.Duration) {
	lapse = forever
	m.pledges = slices.DeleteFunc(m.pledges, func(p pledge) bool { return !now.Before(p.until) })
	for _, p := range m.pledges {
		before := t.call.Class > chat.ClassFinal || cmp.Or(p.since.Compare(t.since), cmp.Compare(p.seq, t.seq)) < 0
		if p.to == t.call.To || !before {
			continue
		}
		calls += p.calls
		lapse = min(lapse, p.until.Sub(now))
	}
	return calls, lapse
}

// pledge takes down what t announces, in place of what its reply announced before: as many calls as
// must wait in this meter now if the reply is to go on at its own pace. A reply whose pace the
// limit keeps up with needs nothing, since its next call is first in the queue anyway.
func (m *meter) pledge(t *Ticket, now time.Time) {
	if t.call.Class != chat.ClassFinal {
		return
	}
	m.withdraw(t)
	calls, own, refill := t.call.Calls-1, t.pace(m), interval(m.limit)
	if calls < 1 || own >= refill {
		return
	}
	calls = int(math.Ceil(float64(calls) * float64(refill-own) / float64(refill)))
	m.pledges = append(m.pledges, pledge{to: t.call.To, since: t.since, seq: t.seq, calls: calls, until: now.Add(pledgeRuns)})
}

// pace is how far apart the calls of t's reply are at least, without the limit of one meter: a round
// trip, and what the other limits let through.
func (t *Ticket) pace(without *meter) time.Duration {
	d := t.budget.trip.shortest
	for _, m := range t.meters {
		if m != without {
			d = max(d, interval(m.limit))
		}
	}
	return d
}

// lapse lets the pledge of t end soon, unless the next call comes.
func (m *meter) lapse(t *Ticket, now time.Time) {
	for i := range m.pledges {
		if m.pledges[i].seq == t.seq {
			m.pledges[i].until = now.Add(pledgeFor)
		}
	}
}

// withdraw ends what the reply of t announced.
func (m *meter) withdraw(t *Ticket) {
	m.pledges = slices.DeleteFunc(m.pledges, func(p pledge) bool { return p.to == t.call.To })
}
