package budget

import (
	"cmp"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"telex/internal/chat"
)

// Several processes may call one endpoint. Each process then has a share of every limit of the whole endpoint: the
// number of calls per window that it may make. Each process publishes a claim for each limit: the process's share, the
// calls that the others must leave to it, and the calls that it wants. A process lowers its share at once, but raises
// it only to what the others leave. So the sum of all calls never exceeds the limit, and no call waits for other
// processes.
//
// A share limits the number of calls, not their pace. A process that has just started has a small share, because the calls of
// its predecessor still count, and its share grows with the calls that it wants. At the pace of this share, its calls would be
// too far apart. The pace is therefore an equal share among the processes that call at present, or the process's own share if
// that is larger. Each process may also use the whole burst.

// leaveSteps is the number of steps in which the calls of a stopped process expire over one window.
const leaveSteps = 30

// limitKey identifies a limit of an endpoint in the claims of all processes, which may know different counts.
type limitKey struct {
	ops    chat.Op
	window time.Duration
}

// shares are the shares of a process.
type shares struct {
	of      map[limitKey]*share
	unknown func() // called when a call uses a limit without a share; must not block
}

// share is the share of one limit.
type share struct {
	count int // of the whole limit
	part  int // calls per window that this process may make
	pace  int // calls per window at which it spreads them
}

// Divide begins to share the endpoint's limits with other processes. It forgets earlier shares: until Claims and Grant
// have been called, it grants no call that counts toward a limit of the endpoint. The budget calls unknown when a call uses a
// limit for the first time.
func (b *Budget) Divide(known []chat.Limit, unknown func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shares = &shares{of: make(map[limitKey]*share), unknown: unknown}
	for _, l := range known {
		b.part(l)
	}
	for _, s := range b.scopes {
		for _, m := range s.meters {
			b.setPart(m, time.Now())
		}
	}
}

// part returns how many calls of a limit this process may make, and at which pace.
func (b *Budget) part(l chat.Limit) (part, pace int) {
	if b.shares == nil || l.Scope != chat.ScopeEndpoint {
		return l.Count, l.Count
	}
	k := limitKey{l.Ops, l.Window}
	s := b.shares.of[k]
	if s == nil {
		s = &share{count: l.Count}
		b.shares.of[k] = s
		b.shares.unknown()
	}
	s.count = min(s.count, l.Count)
	return s.part, s.pace
}

// setPart gives a meter the current share and pace. The bucket keeps its tokens, because shares change all the time.
func (b *Budget) setPart(m *meter, now time.Time) {
	m.part, m.pace = b.part(m.limit)
	// SetLimitAt adds tokens for the time until now. The next call to end takes its token at an earlier time, so the
	// bucket would count the time in between twice. Therefore the rate is set only if it changes.
	if each := rate.Every(m.interval()); each != m.bucket.Limit() {
		m.bucket.SetLimitAt(now, each)
	}
}

// Claims returns the calls that this process has made and wants to make under each shared limit.
func (b *Budget) Claims() (list []chat.Claim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shares == nil {
		return nil
	}
	now := time.Now()
	for k, s := range b.shares.of {
		c := chat.Claim{Ops: k.ops, Window: k.window, Count: s.count, Share: s.part, Held: s.part}
		if endpoint := b.scopes[scopeKey{scope: chat.ScopeEndpoint}]; endpoint != nil {
			for _, m := range endpoint.meters {
				if m.limit.Ops == k.ops && m.limit.Window == k.window {
					b.demand(m, &c, now)
				}
			}
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(x, y chat.Claim) int { return cmp.Or(cmp.Compare(x.Ops, y.Ops), cmp.Compare(x.Window, y.Window)) })
	return list
}

// Retire gives up all shares: the budget grants no more calls that count toward a limit of the endpoint. It returns
// claims for the calls that the platform still counts. The Window of such a claim is the remaining time for which the
// platform counts them.
func (b *Budget) Retire() (left []chat.Claim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shares == nil {
		return nil
	}
	for _, s := range b.shares.of {
		s.part = 0
	}
	now := time.Now()
	held := make(map[limitKey]int)
	for k, s := range b.scopes {
		for _, m := range s.meters {
			if b.setPart(m, now); k.scope == chat.ScopeEndpoint {
				m.leave(held, now)
			}
		}
	}
	for k, n := range held {
		left = append(left, chat.Claim{Ops: k.ops, Window: k.window, Held: n})
	}
	return left
}

// leave adds to held the calls that the platform still counts, grouped by the remaining time for which it counts them. It
// rounds the times up, so that there are few groups.
func (m *meter) leave(held map[limitKey]int, now time.Time) {
	m.prune(now)
	if m.running > 0 {
		held[limitKey{m.limit.Ops, m.limit.Window}] += m.running
	}
	step := max(1, m.limit.Window/leaveSteps)
	for _, at := range m.arrived {
		rest := (at.Add(m.limit.Window).Sub(now) + step - 1) / step * step
		held[limitKey{m.limit.Ops, min(rest, m.limit.Window)}]++
	}
}

// demand adds a meter's used and wanted calls to a claim.
func (b *Budget) demand(m *meter, c *chat.Claim, now time.Time) {
	m.prune(now)
	used := m.running + len(m.arrived)
	c.Held, c.Wanted = max(c.Held, used), c.Wanted+used
	for _, t := range b.waiting {
		if slices.Contains(t.meters, m) {
			c.Wanted += max(1, t.call.Calls)
			c.Waiting = max(c.Waiting, now.Sub(t.since))
		}
	}
}

// Grant makes the shares in claims the current shares of this process. others are the claims of all other processes.
func (b *Budget) Grant(claims, others []chat.Claim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shares == nil {
		return
	}
	for _, c := range claims {
		if s := b.shares.of[limitKey{c.Ops, c.Window}]; s != nil {
			s.part, s.pace = c.Share, max(c.Share, c.Count/calling(c, others))
		}
	}
	now := time.Now()
	for _, s := range b.scopes {
		for _, m := range s.meters {
			b.setPart(m, now)
		}
	}
	b.dispatch(now)
}

// Divided returns a process's claims with new shares, given the claims of all others. It is pure.
func Divided(mine, others []chat.Claim) []chat.Claim {
	out := slices.Clone(mine)
	for i := range out {
		c := &out[i]
		var same []chat.Claim
		left := c.Count
		for _, o := range others {
			if counts(o, *c) {
				same = append(same, o)
				left -= o.Held
			}
		}
		shares := fairShares(*c, same)
		fair := shares[c.Replica]
		if fair > c.Share {
			for _, o := range same { // calls that become free go first to processes that have waited longer
				if byWaiting(o, *c) < 0 {
					left -= max(0, shares[o.Replica]-o.Held)
				}
			}
			fair = max(0, min(fair, left))
		}
		c.Share = fair
		c.Held = max(c.Held, c.Share)
	}
	return out
}

// counts reports whether the calls in another process's claim count toward the limit of claim c. A claim from Retire also
// counts toward limits with longer windows, because its Window is only the remaining time of its calls.
func counts(other, c chat.Claim) bool {
	return other.Ops == c.Ops && (other.Window == c.Window || other.Window < c.Window && isLeft(other))
}

// isLeft reports whether a claim is one of those that Retire returned.
func isLeft(c chat.Claim) bool { return c.Held > 0 && c.Share+c.Wanted == 0 }

// calling returns how many processes make calls under the limit of a claim at present, including the claim's own process.
func calling(mine chat.Claim, others []chat.Claim) int {
	n := 1
	for _, o := range others {
		if counts(o, mine) && !o.Dead && o.Wanted > 0 {
			n++
		}
	}
	return n
}

// byWaiting orders claims, the longest waiting first.
func byWaiting(x, y chat.Claim) int {
	return cmp.Or(cmp.Compare(y.Waiting, x.Waiting), cmp.Compare(x.Replica, y.Replica))
}

// fairShares returns the share that each process should have. It divides the calls that the limit allows evenly among the
// processes that want them; a remainder goes to those that have waited longest. It divides calls that no process wants among
// all processes, so that each can start calling at once.
func fairShares(mine chat.Claim, others []chat.Claim) map[chat.ReplicaID]int {
	left := mine.Count
	live := []chat.Claim{mine}
	for _, o := range others {
		if o.Dead || isLeft(o) {
			left -= o.Held
		} else {
			live = append(live, o)
		}
	}
	left = max(0, left)
	slices.SortFunc(live, byWaiting)
	got := make(map[chat.ReplicaID]int)
	for left > 0 {
		hungry := slices.DeleteFunc(slices.Clone(live), func(c chat.Claim) bool { return c.Wanted <= got[c.Replica] })
		if len(hungry) == 0 {
			break
		}
		each := max(1, left/len(hungry))
		for _, c := range hungry {
			more := min(each, c.Wanted-got[c.Replica], left)
			got[c.Replica] += more
			left -= more
		}
	}
	for i, c := range live {
		more := left / (len(live) - i)
		got[c.Replica] += more
		left -= more
	}
	return got
}
