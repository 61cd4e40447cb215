package budget

import (
	"cmp"
	"slices"
	"time"

	"telex/internal/chat"
)

// pledgeFor is how long the next call of a final may be in coming after the one before.
const pledgeFor = 500 * time.Millisecond

// pledge is what a final announced: so many calls follow the one that was granted.
type pledge struct {
	to    chat.Target
	since time.Time
	seq   uint64
	calls int
	until time.Time // zero while the call is under way
}

// pledged returns how many calls are pledged to finals that go before t, and how long it takes
// until that may change without an event.
func (m *meter) pledged(t *Ticket, now time.Time) (calls int, lapse time.Duration) {
	lapse = forever
	m.pledges = slices.DeleteFunc(m.pledges, func(p pledge) bool { return !p.until.IsZero() && !now.Before(p.until) })
	for _, p := range m.pledges {
		before := t.call.Class > chat.ClassFinal || cmp.Or(p.since.Compare(t.since), cmp.Compare(p.seq, t.seq)) < 0
		if p.to == t.call.To || !before {
			continue
		}
		calls += p.calls
		if !p.until.IsZero() {
			lapse = min(lapse, p.until.Sub(now))
		}
	}
	return calls, lapse
}

// pledge takes down what t announces, in place of what its reply announced before.
func (m *meter) pledge(t *Ticket) {
	if t.call.Class != chat.ClassFinal {
		return
	}
	m.withdraw(t)
	if t.call.Calls > 1 {
		m.pledges = append(m.pledges, pledge{to: t.call.To, since: t.since, seq: t.seq, calls: t.call.Calls - 1})
	}
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
