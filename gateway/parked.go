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

// A reply whose ending is known but can't be shown must not hold up its conversation. It is parked: the conversation
// goes on, and the delivery is tried on in the background until its time is over. What is undone then stays in the store.
// The next message of the chat and the next start try it again.

const (
	// maxParked is how many replies, and how many lines beside, one conversation may deliver in the background.
	maxParked = 8
	// maxUndone is how long a reply is tried again with each message of its chat and with each start.
	maxUndone = 7 * 24 * time.Hour
)

// delivery is what an actor knows of the delivery of a turn's ending.
type delivery struct {
	decided chan struct{} // closed once the ending is known and stored
	trouble atomic.Bool   // it can't be shown for now
	parked  bool          // the conversation goes on without it
	growth  chat.Growth   // what must be stored with the turn's end
}

// inTrouble is what the delivery calls when its trouble begins or ends.
func (a *actor) inTrouble(t *turn) func(bool) {
	return func(trouble bool) {
		t.delivery.trouble.Store(trouble)
		a.poke()
	}
}

// parkable says that the conversation should go on without its turn: the rest is delivery, which is in trouble,
// and somebody waits for what comes next.
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

// unanswered says that a turn may have to be asked again together with what interrupted it.
func (a *actor) unanswered(t *turn) bool {
	return t.why != nil && t.stoppedBy == nil && !t.void && !t.recovered && t.slot.Ending().Keep && !t.slot.Visible() && !t.journal.Changed()
}

// park lets the conversation go on. All of the turn that what comes next depends on is settled now.
func (a *actor) park() {
	t := a.turn
	a.turn, t.delivery.parked = nil, true
	a.parked = append(a.parked, t)
	a.log.Warn("the conversation goes on while an earlier reply can't be shown", slog.String("turn", t.id))
	a.guard(nil, func() { a.detach(t) })
}

// detach settles what a turn leaves to its conversation, in the order of conclude: should the process die after /stop was answered,
// the next one must not run the turn again.
func (a *actor) detach(t *turn) {
	a.queue.Reclaim(&t.offers)
	if !t.recovered && t.slot.Ending().Keep {
		a.storeParked(t)
	}
	if in := t.stoppedBy; in != nil {
		t.stoppedBy = nil
		a.confirmStop(*in, t.slot.Visible())
	}
	then := t.then
	t.then = nil
	for _, f := range then {
		f()
	}
}

// storeParked stores that a turn which was interrupted stays as it is, and what people saw of it. After a restart it is
// not run again.
func (a *actor) storeParked(t *turn) {
	growth := chat.Growth{Usage: history.Usage(t.result.Spent)}
	if !t.void {
		growth = a.grown(t, t.slot.Shown())
	}
	if !a.decideAsShown(t.id, growth) {
		t.delivery.growth = growth
	}
}

// collect concludes the parked turns that are delivered or given up, and tells the running one of messages beside it.
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

// cutParked leaves parked replies as they are shown, without a cursor. It reports whether there was one of which more
// was wanted.
func (a *actor) cutParked(which func(*turn) bool) bool {
	cut := false
	for _, t := range a.parked {
		if !which(t) || t.slot.IsCut() {
			continue
		}
		cut = cut || !t.slot.Ending().Keep
		t.slot.Cut()
		a.cut(t.id)
	}
	return cut
}

func anyTurn(*turn) bool { return true }

// earlier returns the parked replies. Those after them make their messages later.
func (a *actor) earlier() []*preview.Slot {
	var out []*preview.Slot
	for _, t := range a.parked {
		out = append(out, t.slot)
	}
	return out
}

// noteUndone remembers that a turn's reply is undone.
func (g *Gateway) noteUndone(c chat.Conversation, turn string) {
	c = g.now(c) // what reminds of it comes from there
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.undone[c], turn) {
		g.undone[c] = append(g.undone[c], turn)
	}
}

// remind lets what is undone in a chat be tried again: a message came from there, so that it may work now.
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

// mend tries to deliver what is undone in this conversation, in the background.
func (a *actor) mend() {
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

// redeliverParked delivers the known ending of a turn that was begun earlier, in the background.
func (a *actor) redeliverParked(rec chat.Turn, e preview.Ending) {
	t := a.redeliver(rec, e)
	t.delivery.parked = true
	a.parked = append(a.parked, t)
}

// line is a fixed line that is being delivered beside whatever else goes on. Only so many count at a time; one that can't
// be shown for now keeps no other from being said.
type line struct {
	a       *actor
	mu      sync.Mutex
	stalled bool // it counts apart
	over    bool
}

func (a *actor) newLine() *line {
	a.saying.Add(1)
	return &line{a: a}
}

// trouble is what the delivery calls when its trouble begins or ends.
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

// end says that the line counts no more.
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
