package budget

import (
	"math"
	"slices"
	"time"

	"telex/internal/chat"
)

const (
	// reserveFor is how long the next call of a final may be in coming after the one before.
	reserveFor = 500 * time.Millisecond
	// reserveRuns bounds how long a call under way reserves what follows it: others need not wait for
	// one that hangs.
	reserveRuns = 2 * time.Second
)

// reservation is what a final announced: so many calls follow its last one that was granted.
type reservation struct {
	holder *Ticket
	calls  int
	until  time.Time
}

// reserved returns how many calls are reserved for finals that go before t, and how long it takes
// until that may change without an event.
func (m *meter) reserved(t *Ticket, now time.Time) (calls int, lapse time.Duration) {
	lapse = forever
	m.reservations = slices.DeleteFunc(m.reservations, func(r reservation) bool { return !now.Before(r.until) })
	for _, r := range m.reservations {
		if r.holder.call.To != t.call.To && compare(r.holder, t) < 0 {
			calls += r.calls
			lapse = min(lapse, r.until.Sub(now))
		}
	}
	return calls, lapse
}

// reserveNext reserves what t announces, in place of what its reply announced before: as many calls as
// must wait in this meter now if the reply is to go on at its own pace. A reply whose pace the
// limit keeps up with needs nothing, since its next call is first in the queue anyway.
func (m *meter) reserveNext(t *Ticket, now time.Time) {
	if t.call.Class != chat.ClassFinal {
		return
	}
	m.withdraw(t)
	calls, own, refill := t.call.Calls-1, t.pace(m), interval(m.limit)
	if calls < 1 || own >= refill {
		return
	}
	calls = int(math.Ceil(float64(calls) * float64(refill-own) / float64(refill)))
	m.reservations = append(m.reservations, reservation{t, calls, now.Add(reserveRuns)})
}

// pace is how far apart the calls of t's reply are at least, without the limit of one meter: a round
// trip, and what the other limits let through.
func (t *Ticket) pace(without *meter) time.Duration {
	d := t.budget.trips.shortest
	for _, m := range t.meters {
		if m != without {
			d = max(d, interval(m.limit))
		}
	}
	return d
}

// lapse lets the reservation of t end soon, unless the next call comes.
func (m *meter) lapse(t *Ticket, now time.Time) {
	for i := range m.reservations {
		if m.reservations[i].holder == t {
			m.reservations[i].until = now.Add(reserveFor)
		}
	}
}

// withdraw ends what the reply of t announced.
func (m *meter) withdraw(t *Ticket) {
	m.reservations = slices.DeleteFunc(m.reservations, func(r reservation) bool { return r.holder.call.To == t.call.To })
}
