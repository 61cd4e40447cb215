package budget

import (
	"math"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"telex/internal/chat"
)

// shortWindow is what a restart may wait for.
const shortWindow = 5 * time.Second

// meter counts the calls that fall under one limit in one scope. The record of recent calls
// gives the guarantee, never more than Count in any Window; the bucket gives the shape.
//
// A call takes its token from the bucket when it ends, as of its arrival, since one that is
// delayed on its way must not meet the next one at the platform; until then it counts as running.
type meter struct {
	limit chat.Limit
	scope *scope
	slow  slowdown

	running      int         // calls under way
	arrived      []time.Time // when those that still fill the window arrived at the latest, oldest first
	refused      []time.Time // when the platform refused some of them, oldest first
	bucket       *rate.Limiter
	paced        time.Time // when the next less urgent call may go while others wait
	reservations []reservation
}

func newMeter(l chat.Limit, s *scope) *meter {
	return &meter{limit: l, scope: s, bucket: rate.NewLimiter(rate.Every(interval(l)), burst(l))}
}

// burst is how many calls the bucket of a limit holds.
func burst(l chat.Limit) int { return max(1, l.Burst) }

// interval is how long the bucket of a limit takes to get one call back.
func interval(l chat.Limit) time.Duration { return l.Window / time.Duration(max(1, l.Count)) }

// capacity is how many calls t and others like it may use of a window. A slowdown binds less urgent calls
// alone, and of what it leaves they leave up to half to finals, which would be refused beyond it.
func (m *meter) capacity(t *Ticket, now time.Time) int {
	count := max(1, m.limit.Count)
	if t.call.Class < chat.ClassPreview {
		return count
	}
	left := max(1, m.slow.capacity(count, now))
	return left - min(left, count-left)/2
}

// wait returns how long t has to wait in this meter; see Ticket.wait.
func (m *meter) wait(t *Ticket, now time.Time) time.Duration {
	m.settle(now)
	reserved, lapse := m.reserved(t, now)
	count, held := m.capacity(t, now), burst(m.limit)
	d := max(
		m.waitForBucket(min(t.headroom(held, now)+reserved, held-1), now),
		m.waitForWindow(count, min(t.headroom(count, now)+reserved, count-1), now),
	)
	if t.call.Class >= chat.ClassPreview && (m.scope.queued > 1 || count < m.limit.Count) {
		d = max(d, m.paced.Sub(now))
	}
	if due := t.due(); now.Before(due) {
		lapse = min(lapse, due.Sub(now))
	}
	if d > 0 {
		d = min(d, lapse) // things look better then, perhaps
	}
	return d
}

// waitForWindow returns when a window of count calls has room for one more beside the kept ones.
// While a slowdown ends, the count grows, so that it is looked at again a little later.
func (m *meter) waitForWindow(count, kept int, now time.Time) time.Duration {
	over := m.running + len(m.arrived) - (count - kept)
	if over < 0 {
		return 0
	}
	d := forever
	if over < len(m.arrived) {
		d = m.arrived[over].Add(m.limit.Window).Sub(now)
	}
	if count < m.limit.Count {
		d = min(d, rampUp/time.Duration(m.limit.Count))
	}
	return d
}

// waitForBucket returns when the bucket has one more call beside the kept ones. Calls under
// way are taken to arrive just before it: one that hangs holds its place until it ends.
func (m *meter) waitForBucket(kept int, now time.Time) time.Duration {
	need := m.running + 1 + kept
	if need > burst(m.limit) {
		return forever
	}
	missing := float64(need) - m.bucket.TokensAt(now)
	return max(0, time.Duration(math.Ceil(missing*float64(interval(m.limit)))))
}

// settle forgets the calls that have left the window.
func (m *meter) settle(now time.Time) {
	m.arrived = m.recent(m.arrived, now)
	m.refused = m.recent(m.refused, now)
}

// recent returns those of the times, oldest first, that are in the window.
func (m *meter) recent(list []time.Time, now time.Time) []time.Time {
	gone := 0
	for gone < len(list) && now.Sub(list[gone]) >= m.limit.Window {
		gone++
	}
	return list[:copy(list, list[gone:])]
}

// refuse says that the platform refused a call that is counted, and that its block ends at until.
func (m *meter) refuse(until, now time.Time) {
	m.settle(now)
	m.refused = append(m.refused, now)
	m.slow.refuse(max(0, m.running+len(m.arrived)-len(m.refused)), m.limit.Count, until, now)
}

// take counts the call of t, which begins now.
func (m *meter) take(t *Ticket, now time.Time) {
	m.running++
	m.reserveNext(t, now)
	if t.call.Class >= chat.ClassPreview {
		count := m.capacity(t, now)
		apart := m.limit.Window / time.Duration(count-t.headroom(count, now))
		// A grant that came late by the timer's fault does not delay those behind it.
		m.paced = latest(m.paced, now.Add(-apart)).Add(apart)
	}
}

// end says that the call of t has ended; it arrived then at the latest.
func (m *meter) end(t *Ticket, arrived, now time.Time) {
	m.running--
	i := len(m.arrived)
	for i > 0 && m.arrived[i-1].After(arrived) {
		i--
	}
	m.arrived = slices.Insert(m.arrived, i, arrived)
	m.settle(now)
	m.slow.accept(len(m.arrived)-len(m.refused), now)
	m.bucket.ReserveN(arrived, 1)
	m.lapse(t, now)
}

// assume fills the meter as another process may have left it: the bucket is empty, and a short
// window full. A long one counts as half full, since who waits for all of it waits long for what
// hardly ever happened.
func (m *meter) assume(now time.Time) {
	m.settle(now)
	calls := max(1, m.limit.Count)
	if m.limit.Window > shortWindow {
		calls /= 2
	}
	for len(m.arrived) < calls {
		m.arrived = append(m.arrived, now)
	}
	if n := int(m.bucket.TokensAt(now)); n > 0 {
		m.bucket.ReserveN(now, n)
	}
}

// giveBack says that the call of t was not made.
func (m *meter) giveBack(t *Ticket) {
	m.running--
	m.withdraw(t)
}

// usage returns how much of the limit other calls than one under way have used, of the window or of the
// bucket, whichever is used more. 1 is all but the last call.
func (m *meter) usage(now time.Time) float64 {
	m.settle(now)
	share := func(calls float64, capacity int) float64 {
		if calls < 0.5 { // the rest of a call that the bucket has not got back yet
			return 0
		}
		return calls / float64(max(1, capacity-1))
	}
	held := burst(m.limit)
	return max(
		share(float64(m.running+len(m.arrived)-1), m.limit.Count),
		share(float64(m.running+held-1)-m.bucket.TokensAt(now), held),
	)
}

// idle says that forgetting the meter would change nothing.
func (m *meter) idle(now time.Time) bool {
	m.settle(now)
	return !m.slow.active(now) && m.running+len(m.arrived) == 0 && m.bucket.TokensAt(now) >= float64(burst(m.limit))
}
