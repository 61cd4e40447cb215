package budget

import (
	"math"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"telex/internal/chat"
)

// shortWindow is the length of the longest window that the Budget regards as full after a restart. In windows up to the length
// shortWindow, the calls of the old and the new process together never exceed Count.
const shortWindow = 5 * time.Second

// meter counts the calls under one limit in one scope. The list of recent calls ensures that no Window has more
// than Count calls. The bucket spreads the calls over time.
//
// A call takes its token from the bucket when the call ends, and the bucket treats the token as taken at the call's
// latest possible arrival. If a call took its token at its start, a call that the network delays could arrive at the
// platform together with the next call. Until a call ends, the meter counts it as running.
type meter struct {
	limit chat.Limit
	scope *scope
	part  int // calls per window that this process may make: the limit's Count, or less if processes share the limit
	pace  int // calls per window at which this process spreads its calls: part, or more if processes share the limit
	slow  slowdown

	running      int         // number of running calls
	arrived      []time.Time // latest possible arrival times of the calls in the window, oldest first
	refused      []time.Time // times of the refused calls in the window, oldest first
	bucket       *rate.Limiter
	nextPaced    time.Time // earliest time of the next preview or typing indicator while other calls wait
	reservations []reservation
}

func newMeter(l chat.Limit, s *scope, part, pace int) *meter {
	m := &meter{limit: l, scope: s, part: part, pace: pace}
	m.bucket = rate.NewLimiter(rate.Every(m.interval()), m.burst())
	return m
}

// burst returns the size of the bucket.
func (m *meter) burst() int { return max(1, m.limit.Burst) }

// interval returns the time in which the bucket gains one token.
func (m *meter) interval() time.Duration { return m.limit.Window / time.Duration(max(1, m.pace)) }

// capacity returns how many calls in a window the class of ticket t may use if all classes together may use as many calls as
// the parameter count says. A slowdown applies only to previews and typing indicators. During a slowdown, previews and typing
// indicators leave up to half of the reduced limit unused, because the platform would otherwise refuse finals.
func (m *meter) capacity(t *Ticket, count int, now time.Time) int {
	count = max(1, count)
	if t.call.Class < chat.ClassPreview {
		return count
	}
	left := max(1, m.slow.capacity(count, now))
	return left - min(left, count-left)/2
}

// wait returns how long ticket t must wait because of this meter; see Ticket.wait.
func (m *meter) wait(t *Ticket, now time.Time) time.Duration {
	if m.part == 0 && m.limit.Count > 0 {
		return untilEvent
	}
	m.prune(now)
	reserved, lapse := m.reserved(t, now)
	count, held := m.capacity(t, m.part, now), m.burst()
	d := max(
		m.waitForBucket(min(t.headroom(held, now)+reserved, held-1), now),
		m.waitForWindow(count, min(t.headroom(count, now)+reserved, count-1), now),
	)
	if t.call.Class >= chat.ClassPreview && (m.scope.queued > 1 || count < m.part) {
		d = max(d, m.nextPaced.Sub(now))
	}
	if due := t.due(); now.Before(due) {
		lapse = min(lapse, due.Sub(now))
	}
	if d > 0 {
		d = min(d, lapse) // compute the wait again when a reservation ends, or when the ticket becomes more urgent
	}
	return d
}

// waitForWindow returns how long to wait until a window that allows count calls has room for one more call and for the kept
// calls. At the end of a slowdown, the parameter count grows with time. So waitForWindow returns only a short wait, after
// which the meter calls it again with a larger count.
func (m *meter) waitForWindow(count, kept int, now time.Time) time.Duration {
	over := m.running + len(m.arrived) - (count - kept)
	if over < 0 {
		return 0
	}
	d := untilEvent
	if over < len(m.arrived) {
		d = m.arrived[over].Add(m.limit.Window).Sub(now)
	}
	if count < m.part {
		d = min(d, rampUp/time.Duration(m.part))
	}
	return d
}

// waitForBucket returns how long to wait until the bucket has tokens for one more call, for the kept calls, and for the
// running calls. Running calls count because they take their tokens only when they end.
func (m *meter) waitForBucket(kept int, now time.Time) time.Duration {
	need := m.running + 1 + kept
	if need > m.burst() {
		return untilEvent
	}
	missing := float64(need) - m.bucket.TokensAt(now)
	return max(0, time.Duration(math.Ceil(missing*float64(m.interval()))))
}

// prune removes the calls that are too old to be in the window.
func (m *meter) prune(now time.Time) {
	m.arrived = m.recent(m.arrived, now)
	m.refused = m.recent(m.refused, now)
}

// recent returns the times that are in the window; list is ordered, oldest first.
func (m *meter) recent(list []time.Time, now time.Time) []time.Time {
	gone := 0
	for gone < len(list) && now.Sub(list[gone]) >= m.limit.Window {
		gone++
	}
	return list[:copy(list, list[gone:])]
}

// refuse records that the platform refused a call that this meter counts, and that the block ends at the time until.
func (m *meter) refuse(until, now time.Time) {
	m.prune(now)
	m.refused = append(m.refused, now)
	m.slow.refuse(max(0, m.running+len(m.arrived)-len(m.refused)), m.part, until, now)
}

// take counts the call of ticket t, which begins now.
func (m *meter) take(t *Ticket, now time.Time) {
	m.running++
	m.reserveNext(t, now)
	if t.call.Class >= chat.ClassPreview {
		count := m.capacity(t, m.pace, now)
		apart := m.limit.Window / time.Duration(count-t.headroom(count, now))
		// If the timer granted this call late, the later calls are paced as if the timer had been on time.
		m.nextPaced = latest(m.nextPaced, now.Add(-apart)).Add(apart)
	}
}

// end records that the call of ticket t has ended. arrived is the latest possible time of its arrival at the platform.
func (m *meter) end(t *Ticket, arrived, now time.Time) {
	m.running--
	i := len(m.arrived)
	for i > 0 && m.arrived[i-1].After(arrived) {
		i--
	}
	m.arrived = slices.Insert(m.arrived, i, arrived)
	m.prune(now)
	m.slow.accept(len(m.arrived)-len(m.refused), now)
	m.bucket.ReserveN(arrived, 1)
	m.lapse(t, now)
}

// assume counts calls that an earlier process may have made. This process does not know the calls of the earlier process. So
// the method assume supposes the worst, and empties the bucket. If the window is not longer than shortWindow, the method
// assume also fills the window with calls that are as recent as the bucket allows.
//
// The earlier process used a bucket of the same size and rate, so the calls of both processes together comply with one bucket.
// A window may then contain up to Burst-1 calls more than Count. In long windows, the limits that the adapters declare allow
// for these additional calls (see chat.Limit). If the method assume filled long windows too, no call could be made for Burst
// intervals.
func (m *meter) assume(now time.Time) {
	m.prune(now)
	if m.limit.Window <= shortWindow {
		slices.Reverse(m.arrived)
		for n := range max(1, m.part) {
			at := now.Add(-time.Duration(max(0, n+1-m.burst())) * m.interval())
			if n == len(m.arrived) {
				m.arrived = append(m.arrived, at)
			}
			m.arrived[n] = latest(m.arrived[n], at) // the earlier process's calls may be later than those of this process
		}
		slices.Reverse(m.arrived)
	}
	if m.bucket.TokensAt(now) > 0 { // remove fractions of a token, too
		m.bucket = rate.NewLimiter(rate.Every(m.interval()), m.burst())
		m.bucket.ReserveN(now, m.burst())
	}
}

// undo makes the meter forget a call that the method take counted but that was not made.
func (m *meter) undo(t *Ticket) {
	m.running--
	m.withdraw(t)
}

// usage returns the used fraction of the limit, in the window or in the bucket, whichever is larger. usage leaves out
// one running call: the call that the platform has refused. A usage of 1 means that the refused call was the last one
// that the limit allows.
func (m *meter) usage(now time.Time) float64 {
	m.prune(now)
	share := func(calls float64, capacity int) float64 {
		if calls < 0.5 { // less than half a call: a token that the bucket has not refilled completely
			return 0
		}
		return calls / float64(max(1, capacity-1))
	}
	held := m.burst()
	return max(
		share(float64(m.running+len(m.arrived)-1), m.part),
		share(float64(m.running+held-1)-m.bucket.TokensAt(now), held),
	)
}

// idle reports whether the meter can be removed, because it no longer delays any call.
func (m *meter) idle(now time.Time) bool {
	m.prune(now)
	return !m.slow.active(now) && m.running+len(m.arrived) == 0 && m.bucket.TokensAt(now) >= float64(m.burst())
}
