package gateway

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"telex/gateway/history"
	"telex/gateway/preview"
	"telex/internal/chat"
)

// A reply whose ending is known but can't be shown must not block its conversation. The reply is parked: the
// conversation goes on, and the delivery continues in the background until its deadline. After that the reply is
// called undone: it stays in the store, and is tried again at the next message of the chat and at the next start.

const (
	// maxParked is the number of replies, and the number of further lines, that one conversation may deliver in
	// the background.
	maxParked = 8
	// maxUndone is the maximum age of an undone reply that is tried again.
	maxUndone = 7 * 24 * time.Hour
)

// delivery is the state of the delivery of a turn's ending.
type delivery struct {
	decided chan struct{} // closed once the ending is known and stored
	trouble atomic.Bool   // the ending can't be shown at the moment
	parked  bool          // the conversation goes on without the turn
	growth  chat.Growth   // session growth to store with the turn's end
}

// inTrouble returns a callback. The preview calls it when the ending can't be shown at the moment, and when it can
// be shown again.
func (a *actor) inTrouble(t *turn) func(bool) {
	return func(trouble bool) {
		t.delivery.trouble.Store(trouble)
		a.poke()
	}
}

// parkable reports whether the conversation should go on without its turn: only the delivery is left, the ending
// can't be shown at the moment, and other messages wait.
func (a *actor) parkable(t *turn) bool {
	awaited := t.stoppedBy != nil || len(t.then) > 0 || a.queue.Len()+len(a.left)+t.offers.Len() > 0
	if !awaited || !t.delivery.trouble.Load() || len(a.parked) >= maxParked || a.g.isStopping() {
		return false
	}
	select {
	case <-t.delivery.decided:
		return !a.unanswered(t)
	default:
		return false
	}
}

// unanswered reports whether a turn may have to be asked again together with the message that interrupted it.
func (a *actor) unanswered(t *turn) bool {
	return t.why != nil && t.stoppedBy == nil && !t.void && !t.recovered && t.slot.Ending().Keep && !t.slot.Visible() && !t.journal.Changed()
}

// park lets the conversation go on. It first settles everything about the turn that later turns depend on.
func (a *actor) park() {
	t := a.turn
	a.turn, t.delivery.parked = nil, true
	a.parked = append(a.parked, t)
	a.log.Warn("the conversation goes on while an earlier reply can't be shown", slog.String("turn", t.id))
	a.guard(nil, func() { a.detach(t) })
}

// detach settles the effects of a turn on its conversation, in the order of conclude: if the process dies after
// /stop was answered, the next one must not run the turn again.
func (a *actor) detach(t *turn) {
	a.queue.Reclaim(&t.offers)
	if !t.recovered && t.slot.Ending().Keep {
		a.storeParked(t)
	}
	if in := t.stoppedBy; in != nil {
		t.stoppedBy = nil
		a.confirmStop(*in, t.slot.Readable())
	}
	then := t.then
	t.then = nil
	for _, f := range then {
		f()
	}
}

// storeParked stores that an interrupted turn stays as it is, and what people saw of it, so that it does not run
// again after a restart.
func (a *actor) storeParked(t *turn) {
	growth := chat.Growth{Usage: history.Usage(t.result.UsageByModel)}
	if !t.void {
		growth = a.grown(t, t.slot.Shown())
	}
	if !a.decideAsShown(t.id, growth) {
		t.delivery.growth = growth
	}
}

// collect concludes the parked turns whose delivery has ended. If other messages arrived besides the running turn's
// reply, it makes the reply redraw its draft.
func (a *actor) collect() {
	for i := 0; i < len(a.parked); {
		t := a.parked[i]
		select {
		case <-t.done:
			a.parked = slices.Delete(a.parked, i, i+1)
			a.tellPanic(nil, a.conclude(t))
			a.arrived.Store(true)
		default:
			i++
		}
	}
	if a.turn != nil && a.arrived.Swap(false) {
		a.turn.slot.Redraw()
	}
}

// cutParked leaves parked replies as they are shown, without a cursor. It reports whether any of them was still
// incomplete.
func (a *actor) cutParked(which func(*turn) bool) bool {
	cut := false
	for _, t := range a.parked {
		if !which(t) || t.slot.IsCut() {
			continue
		}
		cut = cut || !t.slot.Ending().Keep
		t.slot.Cut()
		a.cut(t.id, t.slot.Ending())
	}
	return cut
}

func anyTurn(*turn) bool { return true }

// earlier returns the parked replies, whose messages come before those of later replies.
func (a *actor) earlier() []*preview.Slot {
	var out []*preview.Slot
	for _, t := range a.parked {
		out = append(out, t.slot)
	}
	return out
}

// noteUndone records that a turn's reply is undone: it could not be delivered and is tried again later.
func (g *Gateway) noteUndone(c chat.Conversation, turn string) {
	c = g.now(c) // messages that trigger a retry arrive under this id
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.undone[c], turn) {
		g.undone[c] = append(g.undone[c], turn)
	}
}

// remind makes the actors of a chat deliver its undone replies when a message arrived there, since delivery may
// work now.
func (g *Gateway) remind(in chat.Conversation) {
	g.mu.Lock()
	var here []chat.Conversation
	for c := range g.undone {
		if c.Endpoint == in.Endpoint && c.Chat == in.Chat {
			here = append(here, c)
		}
	}
	g.mu.Unlock()
	for _, c := range here {
		g.wake(c, func(a *actor) { a.orders = append(a.orders, a.mend) })
	}
}

// mend tries again, in the background, to deliver the undone replies of this conversation, which could not be
// delivered before. A stopping process leaves them to the next one. Its attempt might come before a late edit of a
// dead replica takes effect, and nobody would check the message again.
func (a *actor) mend() {
	if a.g.isStopping() {
		return
	}
	room, here := maxParked-len(a.parked), a.g.now(a.conversation)
	a.g.mu.Lock()
	ids := slices.Clone(a.g.undone[here])
	a.g.mu.Unlock()
	if len(ids) == 0 || room <= 0 {
		return
	}
	turns, err := a.g.store.turns.Unfinished(a.g.deliveries)
	if err != nil {
		a.log.Error("undone replies could not be read", slog.Any("error", err))
		return
	}
	ids = ids[:min(len(ids), room)]
	a.g.mu.Lock()
	a.g.undone[here] = slices.DeleteFunc(a.g.undone[here], func(id string) bool { return slices.Contains(ids, id) })
	if len(a.g.undone[here]) == 0 {
		delete(a.g.undone, here)
	}
	a.g.mu.Unlock()
	for _, rec := range turns {
		if e, known := a.known(rec); known && slices.Contains(ids, rec.ID) {
			a.redeliverParked(rec, e)
		}
	}
}

// redeliverParked delivers the known ending of an earlier turn in the background.
func (a *actor) redeliverParked(rec chat.Turn, e preview.Ending) {
	t := a.redeliver(rec, e, preview.Outcome{})
	t.delivery.parked = true
	a.parked = append(a.parked, t)
}

// line is a fixed line that is delivered besides a turn. The number of concurrent lines is limited; a line that
// can't be shown at the moment is counted separately and does not block others.
type line struct {
	a       *actor
	mu      sync.Mutex
	stalled bool // it is counted in actor.stalled instead of actor.saying
	over    bool
}

func (a *actor) newLine() *line {
	a.saying.Add(1)
	return &line{a: a}
}

// trouble is called when the line can't be shown at the moment, and when it can be shown again.
func (l *line) trouble(trouble bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !trouble || l.stalled || l.over {
		return
	}
	if l.a.stalled.Add(1) > maxParked {
		l.a.stalled.Add(-1)
		return
	}
	l.stalled = true
	l.a.saying.Add(-1)
	l.a.poke()
}

// end removes the line from the counts.
func (l *line) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	if l.stalled {
		l.a.stalled.Add(-1)
		return
	}
	l.a.saying.Add(-1)
}
