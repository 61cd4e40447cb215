package budget

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"telex/internal/chat"
)

const (
	// lowered is what is left of a scope's rate after a 429: enough for a hidden limit at
	// half of the published one to hold after the first refusal.
	lowered = 0.5
	// leastFactor bounds how far repeated refusals can slow a scope down.
	leastFactor = 0.25
	// recoverAfter and recoverStep say how a lowered rate comes back.
	recoverAfter = 2 * time.Minute
	recoverStep  = 0.1
)

// meter counts the calls that fall under one limit in one scope. A bucket gives the shape
// and the log of recent calls the guarantee: never more than Count in any Window.
type meter struct {
	limit   chat.Limit
	factor  float64 // what is used of the limit, (0, 1]
	changed time.Time
	bucket  *rate.Limiter
	recent  []*use // granted calls that still occupy the window, oldest first
}

// use is one granted call. It occupies the window until a window after end.
type use struct {
	end time.Time // zero while the call is under way
}

func newMeter(l chat.Limit) *meter {
	m := &meter{limit: l, factor: 1}
	m.bucket = rate.NewLimiter(m.rate(), m.burst())
	return m
}

func (m *meter) rate() rate.Limit {
	return rate.Limit(float64(m.limit.Count) / m.limit.Window.Seconds() * m.factor)
}

func (m *meter) burst() int { return atLeastOne(float64(m.limit.Burst) * m.factor) }

func (m *meter) count() int { return atLeastOne(float64(m.limit.Count) * m.factor) }

func atLeastOne(f float64) int { return max(1, int(f)) }

// wait returns how long a call of class c has to wait in this meter: 0 when it may go now,
// forever when only the end of a call under way can make room.
func (m *meter) wait(c chat.Class, now time.Time) time.Duration {
	m.settle(now)
	var d time.Duration
	need := 1 + float64(reserve(c, m.burst(), 5))
	if have := m.bucket.TokensAt(now); have < need {
		d = time.Duration(math.Ceil((need - have) / float64(m.bucket.Limit()) * float64(time.Second)))
	}
	room := m.count() - reserve(c, m.count(), 20)
	if over := len(m.recent) - room; over >= 0 {
		last := m.recent[over].end
		if last.IsZero() {
			return forever
		}
		d = max(d, last.Add(m.limit.Window).Sub(now))
	}
	return d
}

// reserve is how much of a capacity class c leaves untouched for more urgent ones: at least
// one call, or one part in share of a large capacity. A capacity of one can't be shared.
func reserve(c chat.Class, capacity, share int) int {
	if c < chat.ClassPreview || capacity < 2 {
		return 0
	}
	r := max(1, capacity/share)
	if c == chat.ClassTyping {
		r++
	}
	return min(r, capacity-1)
}

// settle forgets the calls that have left the window and lets a lowered rate recover.
func (m *meter) settle(now time.Time) {
	keep := m.recent[:0]
	for _, u := range m.recent {
		if u.end.IsZero() || now.Sub(u.end) < m.limit.Window {
			keep = append(keep, u)
		}
	}
	clear(m.recent[len(keep):])
	m.recent = keep
	if m.factor < 1 && now.Sub(m.changed) >= recoverAfter {
		m.setFactor(min(1, m.factor+recoverStep), now)
	}
}

func (m *meter) take(now time.Time) *use {
	m.bucket.AllowN(now, 1)
	u := &use{}
	m.recent = append(m.recent, u)
	return u
}

// lower halves the rate. Several refusals in one window are one piece of news.
func (m *meter) lower(now time.Time) {
	if m.factor < 1 && now.Sub(m.changed) < m.limit.Window {
		return
	}
	m.setFactor(max(leastFactor, m.factor*lowered), now)
}

func (m *meter) setFactor(f float64, now time.Time) {
	m.factor, m.changed = f, now
	m.bucket.SetLimitAt(now, m.rate())
	m.bucket.SetBurstAt(now, m.burst())
}

// idle says that forgetting the meter would change nothing.
func (m *meter) idle(now time.Time) bool {
	m.settle(now)
	return m.factor == 1 && len(m.recent) == 0 && m.bucket.TokensAt(now) >= float64(m.burst())
}
