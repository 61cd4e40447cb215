package budget

import (
	"cmp"
	"slices"
	"time"

	"telex/internal/chat"
)

// Standing is the state of a Budget at one moment.
type Standing struct {
	Waiting int          // number of waiting calls
	Limits  []Use        // the limits in the scope of the endpoint, not those of single chats
	Blocks  []chat.Block // current blocks, the longest first
}

// Use is a limit and the number of calls that currently count toward it.
type Use struct {
	Limit chat.Limit
	Used  int // number of calls that are running, or that the platform still counts
}

// Waiting returns how many calls wait for the budget.
func (b *Budget) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// Standing returns the state of the budget for display. Standing visits every recently used scope, so it is too slow to
// be called for each call to the platform.
func (b *Budget) Standing() Standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	s := Standing{Waiting: len(b.waiting)}
	for k, sc := range b.scopes {
		for _, held := range sc.blocks {
			if held.until.After(now) {
				s.Blocks = append(s.Blocks, chat.Block{Scope: k.scope, Ops: held.ops, Chat: k.chat, Thread: k.thread, Message: k.message, Until: held.until})
			}
		}
		if k.scope != chat.ScopeEndpoint {
			continue
		}
		for _, m := range sc.meters {
			m.prune(now)
			s.Limits = append(s.Limits, Use{m.limit, m.running + len(m.arrived)})
		}
	}
	slices.SortFunc(s.Blocks, func(x, y chat.Block) int { return y.Until.Compare(x.Until) })
	slices.SortFunc(s.Limits, func(x, y Use) int {
		return cmp.Or(cmp.Compare(x.Limit.Ops, y.Limit.Ops), cmp.Compare(x.Limit.Window, y.Limit.Window))
	})
	return s
}
