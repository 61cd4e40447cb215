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

// If the ending of a reply is known but can't be shown, the reply must not block its conversation. The actor parks a reply
// that can't be shown: the conversation continues, and the delivery of the reply continues in the background until its
// deadline. If the delivery of a parked reply does not succeed before the deadline, the reply is called undone. The store
// keeps an undone reply, and the gateway tries to deliver it again at the next message of the chat and at the next start.

const (
	// maxParked is the maximum number of replies that one conversation may deliver in the background. In addition, the
	// conversation may deliver maxParked lines with a fixed text in the background.
	maxParked = 8
	// maxUndone is the maximum age of an undone reply. The gateway does not try to deliver a reply older than maxUndone again.
	maxUndone = 7 * 24 * time.Hour
)

// delivery is the state of the delivery of a turn's ending.
type delivery struct {
	decided chan struct{} // closed once the ending is known and stored
	trouble atomic.Bool   // the ending can't be shown at the moment
	parked  bool          // the conversation continues while the delivery continues in the background
	growth  chat.Growth   // what the turn adds to the session; stored with the turn's end
}

// inTrouble returns a callback for the preview of a turn. The preview calls the callback with true when the ending
// can't be shown at the moment, and with false when the ending can be shown again.
func (a *actor) inTrouble(t *turn) func(bool) {
	return func(trouble bool) {
		t.delivery.trouble.Store(trouble)
		a.poke()
	}
}

// parkable reports whether the actor should park the running turn: the model has finished, the ending can't be shown
// at the moment, and other messages wait.
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

// unanswered reports whether the question of an interrupted turn may have to be asked again, together with the
// message that interrupted the turn.
func (a *actor) unanswered(t *turn) bool {
	return t.why != nil && t.stoppedBy == nil && !t.void && !t.recovered && t.slot.Ending().Keep && !t.slot.Visible() && !t.journal.Changed()
}

// park parks the running turn, so that the conversation continues. park also stores and applies those effects of the
// turn on which later turns depend.
func (a *actor) park() {
	t := a.turn
	a.turn, t.delivery.parked = nil, true
	a.parked = append(a.parked, t)
	a.log.Warn("the conversation continues while an earlier reply can't be shown", slog.String("turn", t.id))
	a.guard(nil, func() { a.detach(t) })
}

// detach applies the effects of a parked turn on its conversation, in the same order as the method conclude. The turn's end is
// stored before /stop is answered: if the process dies after the answer, the next process must not run the turn again.
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

// storeParked stores the text of an interrupted reply that people saw. storeParked also stores that the reply gets no
// further text, so that the next process does not run the turn again.
func (a *actor) storeParked(t *turn) {
	growth := chat.Growth{Usage: history.Usage(t.result.UsageByModel)}
	if !t.void {
		growth = a.grown(t, t.slot.Shown())
	}
	if !a.decideAsShown(t.id, growth) {
		t.delivery.growth = growth
	}
}

// collect concludes the parked turns whose delivery has ended. A message that the bot sends removes a draft from the chat. If
// a parked reply or an answer with a fixed text has ended while the running turn's reply may be a draft, collect lets the
// running reply send its draft again.
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

// cutParked ends the delivery of the parked replies for which the parameter which returns true. The visible text of these
// replies stays and loses its cursor. cutParked reports whether any of these replies was still incomplete.
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

// The method earlier returns the slots of the parked replies. The messages of parked replies must come before the messages of
// later replies.
func (a *actor) earlier() []*preview.Slot {
	var out []*preview.Slot
	for _, t := range a.parked {
		out = append(out, t.slot)
	}
	return out
}

// noteUndone records that a turn's reply could not be delivered, so that the gateway tries again later.
func (g *Gateway) noteUndone(c chat.Conversation, turn string) {
	c = g.now(c) // the messages that cause a new attempt arrive under the current id of the chat
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.undone[c], turn) {
		g.undone[c] = append(g.undone[c], turn)
	}
}

// The gateway calls the method remind when a message arrives in a chat. The message shows that the chat can be reached, so the
// method remind lets the actors of the chat try again to deliver undone replies.
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

// mend tries again, in the background, to deliver the undone replies of this conversation. If the process is stopping, the
// method mend leaves the undone replies to the next process. A late edit by a dead replica may take effect after this process
// has stopped, and then nobody would correct the message.
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

// redeliverParked delivers the known ending of an earlier turn in the background, as a parked reply.
func (a *actor) redeliverParked(rec chat.Turn, e preview.Ending) {
	t := a.redeliver(rec, e, preview.Outcome{})
	t.delivery.parked = true
	a.parked = append(a.parked, t)
}

// line is a line with a fixed text, which may be delivered while a turn runs. The number of lines that are delivered at the
// same time is limited. A line that can't be shown at the moment is counted separately, so that it does not block other lines.
type line struct {
	a       *actor
	mu      sync.Mutex
	stalled bool // the field actor.stalled counts the line, and actor.saying does not
	over    bool
}

func (a *actor) newLine() *line {
	a.saying.Add(1)
	return &line{a: a}
}

// The preview calls the method trouble with true when the line can't be shown at the moment, and with false when the line can
// be shown again.
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

// The method end stops counting the line in actor.saying or actor.stalled.
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
