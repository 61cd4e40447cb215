package budget

import (
	"time"

	"telex/internal/chat"
)

// maxReset bounds what is believed of when a limit is reset.
const maxReset = time.Hour

// allowance is a limit as the platform's answers tell it: so many calls until it is reset.
// After that there are as many as it says in all, for as long as it took before.
type allowance struct {
	ops    chat.Op
	limit  int // calls after a reset; 0: not known
	left   int
	until  time.Time     // when it is reset
	period time.Duration // the longest time to a reset that was told
}

// UpdateLimits records what the platform said of its limits in the answer to c, before its ticket is
// Done. It narrows what the adapter declares and never widens it.
func (b *Budget) UpdateLimits(c chat.Call, told []chat.RateLimitInfo) {
	if len(told) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for _, w := range told {
		if w.Reset > 0 && w.Ops != 0 {
			sc := b.scope(key(w.Scope, c))
			// Others that are under way may not be counted in the answer yet.
			sc.allowance(w.Ops).tell(w, max(0, sc.running-1), now)
		}
	}
	b.dispatch(now)
}

// allowance returns the allowance for ops, made on first use.
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

// tell takes over what an answer said while so many other calls were under way.
func (a *allowance) tell(w chat.RateLimitInfo, others int, now time.Time) {
	reset := min(w.Reset, maxReset)
	until, left := now.Add(reset), w.Remaining-others
	if a.until.Sub(now) > 0 && until.Sub(a.until) < a.period/2 {
		left = min(left, a.left) // the same period: answers overtake each other
	}
	a.limit, a.left, a.until, a.period = max(0, w.Limit), left, until, max(a.period, reset)
}

// wait returns how long a call has to wait that leaves keep calls to others.
func (a *allowance) wait(keep int, now time.Time) time.Duration {
	if d := a.until.Sub(now); d > 0 && a.left <= keep {
		return d
	}
	return 0
}

// take counts a call that begins while so many others are under way. The first one after a
// reset begins a new period, until its answer says better.
func (a *allowance) take(others int, now time.Time) {
	switch {
	case now.Before(a.until):
		a.left--
	case a.limit > 0:
		a.left, a.until = a.limit-1-others, now.Add(a.period)
	}
}

// giveBack says that a call that was counted was not made.
func (a *allowance) giveBack(now time.Time) {
	if now.Before(a.until) {
		a.left++
	}
}
