package budget

import (
	"math"
	"slices"
	"time"

	"telex/internal/chat"
)

const (
	// reserveTime is how long a final's reservation lasts after the end of a call, if the final's next call does not
	// come.
	reserveTime = 500 * time.Millisecond
	// reserveRunningTime is how long a reservation lasts while the final's call is running. It is limited so that others
	// don't wait for a call that hangs.
	reserveRunningTime = 2 * time.Second
)

// reservation is the number of calls that a final has announced and that are still to come after its last granted call.
type reservation struct {
	holder *Ticket
	calls  int
	until  time.Time
}

// reserved returns the number of calls reserved for finals that precede t, and the time until it may change without an
// event.
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

// reserveNext replaces the reservation of t's reply. It reserves the calls that would otherwise wait in this meter
// while the reply continues at its own pace. If the limit keeps up with that pace, no reservation is needed, since the
// reply's next call is first in the queue anyway.
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

// pace returns the minimum time between the calls of t's reply, ignoring one meter: a round trip, or the
// interval of another limit.
func (t *Ticket) pace(without *meter) time.Duration {
	d := t.budget.trips.shortest
	for _, m := range t.meters {
		if m != without {
			d = max(d, m.interval())
		}
	}
	return d
}

// lapse makes the reservation of t end soon unless the next call comes.
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
