package budget

import (
	"cmp"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"telex/internal/chat"
)

// Several processes may make calls for one endpoint. Each process then has a share of every limit that counts all calls
// of the endpoint. The share is the number of calls per window that the process may make. Each process publishes a
// claim for each limit. The claim contains the process's share, the number of calls that other processes must leave to
// it, and the number of calls that it wants to make. A process lowers its share at once, but raises its share only by
// calls that no other process claims. With these rules, all processes together never exceed the limit, and no call has
// to wait for a response from another process.
//
// A share limits the number of calls in a window, not the time between them. A process that has just started has a
// small share, because the platform still counts the calls of other processes. If a process spread the few calls of a
// small share over the whole window, its calls would be too far apart. So each process spreads its calls as if the
// limit were divided equally among the processes that make calls at present. If the process's own share is larger, the
// process spreads its calls according to this share. Each process may also use the whole burst.

// leaveSteps is the number of steps in which a stopped process's calls become free for other processes. The steps are
// spread over one window.
const leaveSteps = 30

// limitKey identifies a limit of an endpoint in the claims of all processes. The key does not contain the count,
// because processes with different configurations may use different counts.
type limitKey struct {
	ops    chat.Op
	window time.Duration
}

// shares contains this process's share of each limit of the endpoint.
type shares struct {
	of      map[limitKey]*share
	unknown func() // called when a call counts toward a limit without a share; must not block
}

// share is the share of one limit.
type share struct {
	count int // number of calls per window that all processes together may make
	part  int // number of calls per window that this process may make
	pace  int // rate at which this process spreads its calls, in calls per window
}

// Divide begins to divide the endpoint's limits among several processes. Divide discards earlier shares. Until Claims and
// Grant have been called, the Budget grants no call that counts toward a limit of the endpoint. The Budget calls the function
// unknown when a call counts toward a limit that has no share yet.
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

// part returns how many calls per window this process may make under limit l, and at which pace it spreads them.
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

// setPart gives a meter the current share and pace. The bucket keeps its tokens: shares may change every second, and a
// new bucket each time would begin with a wrong number of tokens.
func (b *Budget) setPart(m *meter, now time.Time) {
	m.part, m.pace = b.part(m.limit)
	// SetLimitAt adds the tokens for the time until now. The next call that ends takes its token at a time before now, so the
	// bucket would add the tokens for the time in between twice. Therefore setPart calls SetLimitAt only if the rate changes.
	if each := rate.Every(m.interval()); each != m.bucket.Limit() {
		m.bucket.SetLimitAt(now, each)
	}
}

// Claims returns this process's claim for each limit that the processes divide. A claim contains this process's share,
// and the numbers of calls that this process has made and wants to make.
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

// Retire gives up all shares. After Retire, the Budget grants no call that counts toward a limit of the endpoint.
// Retire returns claims for the calls that the platform still counts. The field Window of a returned claim is the time
// after which the platform no longer counts the calls of this claim.
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

// The method leave adds to the map held the calls that the platform still counts. The calls are grouped by the time until the
// platform no longer counts them. The method leave rounds these times up, so that there are few groups.
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

// demand adds to claim c the calls that this process has made and wants to make under the meter's limit.
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

// Grant sets the shares of this process to those in the parameter claims. The parameter others contains the claims of all
// other processes.
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

// Divided returns a process's claims with new shares, computed from the claims of all other processes. Divided changes
// no state.
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
			for _, o := range same { // processes whose calls have waited longer come first
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

// counts reports whether the calls in another process's claim count toward the limit of claim c. A claim that Retire
// returned also counts toward limits with longer windows, because the field Window of such a claim is only the time
// until the platform no longer counts the calls.
func counts(other, c chat.Claim) bool {
	return other.Ops == c.Ops && (other.Window == c.Window || other.Window < c.Window && isLeft(other))
}

// isLeft reports whether c is a claim that Retire returned.
func isLeft(c chat.Claim) bool { return c.Held > 0 && c.Share+c.Wanted == 0 }

// calling returns how many processes make calls, or want to make calls, under the limit of the claim mine. calling also
// counts the process to which mine belongs.
func calling(mine chat.Claim, others []chat.Claim) int {
	n := 1
	for _, o := range others {
		if counts(o, mine) && !o.Dead && o.Wanted > 0 {
			n++
		}
	}
	return n
}

// byWaiting orders claims by how long their oldest call has waited, the longest wait first.
func byWaiting(x, y chat.Claim) int {
	return cmp.Or(cmp.Compare(y.Waiting, x.Waiting), cmp.Compare(x.Replica, y.Replica))
}

// fairShares returns the share that each process should have. fairShares divides the calls that the limit allows evenly among
// the processes that want calls, and gives the remainder to the processes that have waited longest. If some calls remain that
// no process wants, fairShares divides them among all processes, so that each process can make its next call at once.
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
