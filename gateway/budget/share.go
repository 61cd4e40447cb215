package budget

import (
	"cmp"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"telex/internal/chat"
)

// Several processes may call for one endpoint. Then each has a share of every limit that counts over the whole endpoint: the
// calls per window that it may make. Each process writes down its claim: its share, what the others must leave to it, and what
// it wants. A process lowers its share at once, and raises it only to what the others leave. So the sum of all calls never
// exceeds the limit, and no call waits for the others.
//
// A share says how many calls there may be, not how fast they may follow each other: a process that has just begun has a small share, because
// what it used before it stopped still counts, and the share grows with what it wants. So the pace is the share that it would have if
// all that call at present had equal ones, or its share if that is larger. And each process may use the whole burst.

// leaveSteps is into how many steps the time is divided in which the calls of a process that has stopped are forgotten.
const leaveSteps = 30

// limitKey identifies a limit of an endpoint in the claims of all processes, which may know different counts.
type limitKey struct {
	ops    chat.Op
	window time.Duration
}

// shares are the shares of a process.
type shares struct {
	of      map[limitKey]*share
	unknown func() // called when a limit is used of which there is no share yet; must not block
}

// share is the share of one limit.
type share struct {
	count int // of the whole limit
	part  int // calls per window that this process may make
	pace  int // calls per window at which it spreads them
}

// Divide begins to share the endpoint's limits with other processes. It forgets earlier shares: until Claims and Grant have been
// called, no call is granted that counts in a limit of the endpoint. unknown is called when a limit is used for the first time.
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

// setPart gives a meter the current share and pace. Its bucket keeps what it has, since shares change all the time.
func (b *Budget) setPart(m *meter, now time.Time) {
	m.part, m.pace = b.part(m.limit)
	m.bucket.SetLimitAt(now, rate.Every(m.interval()))
}

// Claims returns what this process uses and wants of each limit that it shares.
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

// Retire gives up all shares. No call is granted any more that counts in a limit of the endpoint. It returns the claims that are left: the
// calls that the platform still counts. The window of each is how long it counts them yet.
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

// leave adds the calls that the platform still counts, by the time for which it counts them yet. Times are rounded up, so that they are few.
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

// demand adds what is used and wanted of a meter to a claim.
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

// Grant makes the shares of claims the current ones, given the claims of all others.
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
		fair := fairShare(*c, same)
		if fair > c.Share {
			fair = max(0, min(fair, left))
		}
		c.Share = fair
		c.Held = max(c.Held, c.Share)
	}
	return out
}

// counts reports whether the calls of another process's claim count in the limit of a claim. Those of a process that has stopped count in
// each longer window, too.
func counts(other, c chat.Claim) bool {
	return other.Ops == c.Ops && (other.Window == c.Window || other.Window < c.Window && isLeft(other))
}

// isLeft reports whether a claim is one of those that Retire returned.
func isLeft(c chat.Claim) bool { return c.Held > 0 && c.Share+c.Wanted == 0 }

// calling returns how many processes call under the limit of a claim at present, its own included.
func calling(mine chat.Claim, others []chat.Claim) int {
	n := 1
	for _, o := range others {
		if counts(o, mine) && !o.Dead && o.Wanted > 0 {
			n++
		}
	}
	return n
}

// fairShare returns the share that a process should have. What the limit allows goes to those who want it, as evenly as
// possible; a rest that can't be divided to those who wait longest; and what nobody wants to all, so that each can begin at
// once.
func fairShare(mine chat.Claim, others []chat.Claim) int {
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
	slices.SortFunc(live, func(x, y chat.Claim) int { // the longest waiting first
		return cmp.Or(cmp.Compare(y.Waiting, x.Waiting), cmp.Compare(x.Replica, y.Replica))
	})
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
	return got[mine.Replica]
}
