package budget

import (
	"math"
	"slices"
	"time"

	"telex/internal/chat"
)

const (
	// reserveTime is how long a final's reservation lasts after one of the final's calls has ended, unless the final
	// requests its next call earlier.
	reserveTime = 500 * time.Millisecond
	// reserveRunningTime is how long a reservation lasts while the final's call is running. The time is limited so that
	// other replies don't wait for a call that hangs.
	reserveRunningTime = 2 * time.Second
)

// reservation is a number of calls that a final has announced, but not requested yet. Other replies must leave the
// announced calls to the final.
type reservation struct {
	holder *Ticket
	calls  int
	until  time.Time
}

// reserved returns how many calls are reserved for finals that come before ticket t in the queue. lapse is the time
// until the first of these reservations ends.
func (m *meter) reserved(t *Ticket, now time.Time) (calls int, lapse time.Duration) {
	lapse = untilEvent
	m.reservations = slices.DeleteFunc(m.reservations, func(r reservation) bool { return !now.Before(r.until) })
	for _, r := range m.reservations {
		if r.holder.call.To != t.call.To && compare(r.holder, t) < 0 {
			calls += r.calls
			lapse = min(lapse, r.until.Sub(now))
		}
	}
	return calls, lapse
}

// reserveNext replaces the reservation of t's reply. Suppose the reply makes its calls as fast as round trips and other
// limits allow. reserveNext then reserves those of its calls that this meter would otherwise delay. If this meter's
// limit is no slower than round trips and other limits, reserveNext reserves nothing: the reply's next call will be
// first in the queue anyway.
func (m *meter) reserveNext(t *Ticket, now time.Time) {
	if t.call.Class != chat.ClassFinal {
		return
	}
	m.withdraw(t)
	calls, own, refill := t.call.Calls-1, t.pace(m), m.interval()
	if calls < 1 || own >= refill {
		return
	}
	calls = int(math.Ceil(float64(calls) * float64(refill-own) / float64(refill)))
	m.reservations = append(m.reservations, reservation{t, calls, now.Add(reserveRunningTime)})
}

// pace returns the minimum time between two calls of t's reply: the shortest round trip or the longest interval of a
// limit. pace ignores the limit of the meter in the parameter without.
func (t *Ticket) pace(without *meter) time.Duration {
	d := t.budget.trips.shortest
	for _, m := range t.meters {
		if m != without {
			d = max(d, m.interval())
		}
	}
	return d
}

// lapse lets the reservation of t end after reserveTime, unless the reply requests its next call earlier.
func (m *meter) lapse(t *Ticket, now time.Time) {
	for i := range m.reservations {
		if m.reservations[i].holder == t {
			m.reservations[i].until = now.Add(reserveTime)
		}
	}
}

// withdraw removes the reservations of t's reply.
func (m *meter) withdraw(t *Ticket) {
	m.reservations = slices.DeleteFunc(m.reservations, func(r reservation) bool { return r.holder.call.To == t.call.To })
}
