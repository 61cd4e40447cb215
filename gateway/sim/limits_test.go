package sim

import (
	"slices"
	"time"

	"telex/internal/chat"
)

// block is a 429 whose response a process received, so that the process must make no calls in the scope until the given
// time.
type block struct {
	scope       chat.Scope
	call        *call
	from, until time.Time
}

// penalty is a 429 as the platform enforces it: until the end of the penalty, the platform refuses all calls in the
// scope.
type penalty struct {
	scope chat.Scope
	call  *call
	until time.Time
	named bool
}

// shares reports whether calls a and b count in the same scope. A call without a message id counts for its whole chat.
func shares(s chat.Scope, a, b *call) bool {
	switch {
	case s == chat.ScopeEndpoint:
		return true
	case s == chat.ScopeMessage && a.id != "" && !a.creates():
		return a.to.Chat == b.to.Chat && a.id == b.id
	default:
		return a.to.Chat == b.to.Chat
	}
}

// weigh reports a violation if one process made more calls in a window than the platform's published limit allows (D3).
// Calls of earlier processes do not count, since a process can't know them all. With replicas, the calls of all
// processes count for the limits of an endpoint.
func (w *world) weigh(c *call) {
	w.arrivals = append(w.arrivals, c)
	for _, l := range w.s.profile.Limits {
		if n := w.within(c, l, w.s.replicas == 0 || l.Scope != chat.ScopeEndpoint); c.op&l.Ops != 0 && n > l.Count {
			w.complain("D3: %d calls within %v in scope %s, the limit is %d", n, l.Window, l.Scope, l.Count)
		} else if c.op&l.Ops != 0 && w.within(c, l, false) > l.Count {
			w.except(deadCalls)
		}
	}
}

// within counts the calls, including c, in the window of limit l that ends with the arrival of c. If same is true, only
// calls of the same process count.
func (w *world) within(c *call, l chat.Limit, same bool) int {
	n := 0
	if l.Scope == chat.ScopeMessage && (c.id == "" || c.creates()) {
		return 0
	}
	for _, a := range slices.Backward(w.arrivals) {
		if c.took.Sub(a.took) >= l.Window {
			break
		}
		if a.op&l.Ops != 0 && shares(l.Scope, a, c) && (!same || a.life == c.life) && (l.Scope != chat.ScopeMessage || !a.creates()) {
			n++
		}
	}
	return n
}

// refuses returns a rate-limit error if the call's fault, a penalty or one of the platform's limits requires it.
func (w *world) refuses(c *call, f fault) *chat.SendError {
	if f.kind == limited {
		w.hit(c, limited+" "+f.scope.String())
		return w.penalize(c, f.scope, f.after, f.named, f.told)
	}
	for _, p := range w.penalties {
		if shares(p.scope, p.call, c) && c.took.Before(p.until) {
			w.counts.add("429 while it is blocked", 1)
			return limit429(p.scope, p.named, p.until.Sub(c.took))
		}
	}
	for _, l := range w.s.profile.Limits {
		if w.s.hidden {
			l.Count = max(1, l.Count/2)
		}
		if c.op&l.Ops != 0 && w.within(c, l, false) > l.Count {
			w.counts.add("fault: limit hit", 1)
			return w.penalize(c, l.Scope, l.Window+time.Second, w.s.names, false)
		}
	}
	return nil
}

func (w *world) penalize(c *call, s chat.Scope, d time.Duration, named, told bool) *chat.SendError {
	w.penalties = append(w.penalties, penalty{s, c, c.took.Add(d), named})
	e := limit429(s, named, d)
	if told {
		e.RateLimits = []chat.RateLimitInfo{{Scope: s, Ops: chat.OpAll, Limit: 5, Remaining: 0, Reset: d}}
	}
	return e
}

func limit429(s chat.Scope, named bool, d time.Duration) *chat.SendError {
	if !named {
		s = 0
	}
	return &chat.SendError{Kind: chat.RateLimited, RetryAfter: d, Scope: s}
}

// judgeDeparture checks, when a process makes a call, that the call is allowed at this time.
func (w *world) judgeDeparture(c *call) {
	for _, b := range w.told { // D4
		s := b.scope
		if s == 0 {
			s = chat.ScopeChat
		}
		known := b.call.life == c.life || w.saved(b) && (w.s.replicas == 0 || c.life.blocks.After(b.from))
		if known && shares(s, b.call, c) && c.at.After(b.from) && c.at.Before(b.until) {
			w.complain("D4: call %s in a scope that is blocked until %.3f", c, b.until.Sub(w.began).Seconds())
		}
	}
	if c.op == chat.OpTyping {
		if !w.working(c) {
			w.complain("F45: typing in %s while nothing is under way", c.to.Chat)
		}
		return
	}
	if c.turn == "" {
		return // the call deletes a message that does not exist or is not the bot's
	}
	t := w.turns[c.turn]
	if t == nil {
		w.complain("call for turn %s, which is not stored: %s", c.turn, c)
		return
	}
	if n := len(t.calls); n > 0 && t.calls[n-1].life == c.life && t.calls[n-1].done.IsZero() {
		w.complain("F14: two calls of turn %s at once: %s", c.turn, c)
	}
	t.calls = append(t.calls, c)
	if t.over() {
		w.complain("F38: call after the end of turn %s: %s", c.turn, c)
	}
	w.judgePreview(t, c)
}

// judgePreview checks a call that shows a preview of a reply.
func (w *world) judgePreview(t *turnLog, c *call) {
	if !c.m.Preview {
		return
	}
	if apart(c.m.Key) {
		return
	}
	if (!w.s.config.Enabled || !w.s.kind.caps.Edit && !w.s.kind.caps.Draft) && !(t.asks && w.s.kind.caps.Edit) {
		w.complain("F56: preview where none can be: %s", c)
	}
	if c.op == chat.OpDraft {
		return
	}
	if gap := c.at.Sub(t.lastEdit); c.op == chat.OpEdit && t.edited == c.id && gap < w.s.config.Interval && t.lastRun == w.runAt(c) && !w.awaits(t) {
		w.complain("preview %v after the one before: %s", gap, c)
	}
	t.edited, t.lastEdit, t.lastRun = c.id, c.at, w.runAt(c)
	part := partOf(c.m.Key)
	for _, m := range w.person.of(t.id) {
		switch {
		case m.deletedBy == "person" && c.creates() && m.part == part && w.knowsGone(c, m):
			w.complain("D6: a preview comes back: %s", c)
		case m.part > part && m.stands() && !m.by.unknown() && c.op == chat.OpEdit:
			w.complain("D8: preview in a part that is full: %s", c)
		}
	}
	for _, old := range t.calls {
		if old != c && old.life == c.life && old.creates() && old.failed(chat.Uncertain) && !w.s.kind.reconciles() && c.creates() && !apart(old.m.Key) {
			w.complain("D5: preview after a create of unknown outcome: %s", c)
		}
	}
}

// knowsGone reports whether the platform told the process of call c that message m no longer exists.
func (w *world) knowsGone(c *call, m *message) bool {
	for _, old := range w.calls {
		if old.id == m.id && old.life == c.life && old.failed(chat.Gone) {
			return true
		}
	}
	return false
}
