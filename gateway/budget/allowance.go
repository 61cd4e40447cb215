package budget

import (
	"time"

	"telex/internal/chat"
)

// maxReset is the longest time until a reset that the Budget believes. If a platform reports a longer time, the Budget
// uses maxReset.
const maxReset = time.Hour

// allowance is a rate limit as the platform reports it in its responses: the number of calls that are left until the
// time of the reset. After the reset, the full limit is available again for a period of the same length.
type allowance struct {
	ops    chat.Op
	limit  int // calls per period; 0: unknown
	left   int
	until  time.Time     // time of the reset
	period time.Duration // longest time until a reset that the platform has reported
}

// UpdateLimits records the rate limits that the platform reported in its response to call c. The caller must call UpdateLimits
// before the ticket's method Done. Reported limits can make the limits that the adapter declares stricter, but never looser.
func (b *Budget) UpdateLimits(c chat.Call, reported []chat.RateLimitInfo) {
	if len(reported) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for _, w := range reported {
		if w.Reset > 0 && w.Ops != 0 {
			sc := b.scope(key(w.Scope, c))
			// The platform's response may not count the other running calls yet.
			sc.allowance(w.Ops).report(w, max(0, sc.running-1), now)
		}
	}
	b.dispatch(now)
}

// allowance returns the allowance for ops, creating it on first use.
func (s *scope) allowance(ops chat.Op) *allowance {
	for _, a := range s.allowances {
		if a.ops == ops {
			return a
		}
	}
	a := &allowance{ops: ops}
	s.allowances = append(s.allowances, a)
	return a
}

// report updates the allowance with the limit w that the platform reported. others is the number of running calls that
// the platform may not have counted yet.
func (a *allowance) report(w chat.RateLimitInfo, others int, now time.Time) {
	reset := min(w.Reset, maxReset)
	until, left := now.Add(reset), w.Remaining-others
	if a.until.Sub(now) > 0 && until.Sub(a.until) < a.period/2 {
		left = min(left, a.left) // the period is still the same, and an older response may arrive after a newer one
	}
	a.limit, a.left, a.until, a.period = max(0, w.Limit), left, until, max(a.period, reset)
}

// wait returns how long a call must wait. The parameter keep is the number of calls that this call must leave to more
// urgent calls.
func (a *allowance) wait(keep int, now time.Time) time.Duration {
	if d := a.until.Sub(now); d > 0 && a.left <= keep {
		return d
	}
	return 0
}

// take counts a call that begins while other calls are running. The first call after a reset begins a new period. The response
// to that first call may then report the exact time of the next reset.
func (a *allowance) take(others int, now time.Time) {
	switch {
	case now.Before(a.until):
		a.left--
	case a.limit > 0:
		a.left, a.until = a.limit-1-others, now.Add(a.period)
	}
}

// undo makes the allowance forget a call that the method take counted but that was not made.
func (a *allowance) undo(now time.Time) {
	if now.Before(a.until) {
		a.left++
	}
}
