package budget

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"telex/internal/chat"
)

// How a refusal slows a scope down, in percent of its published limit.
const (
	fullSpeed  = 100
	leastSpeed = 25 // however many refusals come
	// lowered is what is left of the speed after a 429: enough for a hidden limit at half of
	// the published one to hold after the first refusal.
	lowered = 50
	// recoverAfter and recoverStep say how the speed comes back.
	recoverAfter = 2 * time.Minute
	recoverStep  = 10
)

// What classes below the first display leave untouched: one part in so many of a capacity.
const (
	burstShare = 5
	countShare = 20
)

// meter counts the calls that fall under one limit in one scope. A bucket gives the shape
// and the record of recent calls the guarantee: never more than Count in any Window.
type meter struct {
	limit   chat.Limit
	speed   int // percent of the limit that is used
	changed time.Time
	bucket  *rate.Limiter
	running int         // granted calls that have not ended
	ended   []time.Time // when calls ended that still occupy the window, oldest first
}

func newMeter(l chat.Limit) *meter {
	m := &meter{limit: l, speed: fullSpeed}
	m.bucket = rate.NewLimiter(m.rate(), m.burst())
	return m
}

func (m *meter) rate() rate.Limit {
	return rate.Limit(float64(m.limit.Count*m.speed) / fullSpeed / m.limit.Window.Seconds())
}

func (m *meter) burst() int { return max(1, m.limit.Burst*m.speed/fullSpeed) }

func (m *meter) count() int { return max(1, m.limit.Count*m.speed/fullSpeed) }

// wait returns how long a call of class c has to wait in this meter: 0 when it may go now,
// forever when only the end of a call under way can make room.
func (m *meter) wait(c chat.Class, now time.Time) time.Duration {
	m.settle(now)
	var d time.Duration
	need := 1 + float64(reserve(c, m.burst(), burstShare))
	if have := m.bucket.TokensAt(now); have < need {
		d = time.Duration(math.Ceil((need - have) / float64(m.bucket.Limit()) * float64(time.Second)))
	}
	room := m.count() - reserve(c, m.count(), countShare)
	over := m.running + len(m.ended) - room
	switch {
	case over < 0:
		return d
	case over >= len(m.ended):
		return forever
	}
	return max(d, m.ended[over].Add(m.limit.Window).Sub(now))
}

// reserve is how much of a capacity class c leaves untouched for more urgent ones: at least
// one call, or one part in share of a large capacity. A capacity of one can't be shared.
func reserve(c chat.Class, capacity, share int) int {
	if c < chat.ClassPreview {
		return 0
	}
	r := max(1, capacity/share)
	if c == chat.ClassTyping {
		r++
	}
	return min(r, capacity-1)
}

// settle forgets the calls that have left the window and lets a lowered speed recover.
func (m *meter) settle(now time.Time) {
	gone := 0
	for gone < len(m.ended) && now.Sub(m.ended[gone]) >= m.limit.Window {
		gone++
	}
	m.ended = m.ended[:copy(m.ended, m.ended[gone:])]
	if steps := int(now.Sub(m.changed) / recoverAfter); m.speed < fullSpeed && steps > 0 {
		m.setSpeed(min(fullSpeed, m.speed+steps*recoverStep), now)
	}
}

// take counts a call that is granted now. It occupies the window until a window after its end.
func (m *meter) take(now time.Time) {
	m.bucket.AllowN(now, 1)
	m.running++
}

// end says that a call that was taken has ended.
func (m *meter) end(now time.Time) {
	m.running--
	m.ended = append(m.ended, now)
}

// giveBack says that a call that was taken was not made.
func (m *meter) giveBack(now time.Time) {
	m.running--
	m.bucket.AllowN(now, -1) // the bucket caps it at its burst
}

// lower halves the speed. Several refusals in one window are one piece of news.
func (m *meter) lower(now time.Time) {
	if m.speed < fullSpeed && now.Sub(m.changed) < m.limit.Window {
		return
	}
	m.setSpeed(max(leastSpeed, m.speed*lowered/fullSpeed), now)
}

func (m *meter) setSpeed(percent int, now time.Time) {
	m.speed, m.changed = percent, now
	m.bucket.SetLimitAt(now, m.rate())
	m.bucket.SetBurstAt(now, m.burst())
}

// idle says that forgetting the meter would change nothing.
func (m *meter) idle(now time.Time) bool {
	m.settle(now)
	return m.speed == fullSpeed && m.running+len(m.ended) == 0 && m.bucket.TokensAt(now) >= float64(m.burst())
}
