package gateway

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"telex/gateway/preview"
	"telex/gateway/queue"
	"telex/internal/chat"
)

// The commands that end an answer, repeat it or take it back.

// Histories takes back what was said in conversations.
type Histories interface {
	// Undo deletes the entries of the newest turn that no summary stands for, and returns them;
	// none when there is nothing to delete. Entries that older versions stored count as one turn
	// from a user's message on. In the same step it begins the turn that says so, as Begin does:
	// what asked for it does not do so again after a crash. One without an ID is not begun.
	Undo(ctx context.Context, c chat.Conversation, says chat.Turn) ([]chat.Entry, error)
	// Forget deletes the entries and the summary of a conversation; the chosen model stays. Running
	// turns can't add to it any more, but what they used.
	Forget(ctx context.Context, c chat.Conversation) error
	// Erase deletes the entries of the turns that a person asked in a conversation, and fences the
	// running ones. The summary goes as well, since it may tell of them, and what it stood for of
	// others counts again. Usage stays: nobody gets around a limit so. It returns how many entries went.
	Erase(ctx context.Context, c chat.Conversation, u chat.UserID) (int, error)
}

// asksAgain says that a message has no question of its own: it is about the last one.
func asksAgain(in chat.Inbound) bool { return in.Kind == chat.Command && in.Command == cmdRetry }

// stop ends the running turn and drops what waits. What was shown stays, so that only a
// reply that had shown nothing needs a word.
func (a *actor) stop(m queue.Message) {
	in := m.Inbound
	idle := a.turn == nil && a.queue.Len() == 0 && len(a.left) == 0
	if a.cutParked(anyTurn) {
		idle = false
	}
	a.clear(m.Accepted)
	switch {
	case a.turn != nil:
		if earlier := a.turn.stoppedBy; earlier != nil {
			a.drop(*earlier)
		}
		a.turn.stoppedBy = &in
		a.interrupt(errStopped)
	case idle:
		a.say(in, a.g.Texts[TextNothing])
	default:
		a.say(in, a.g.Texts[TextStopped])
	}
}

// clear drops what waited before. What an earlier process had begun to show stays as it is,
// like a running turn's; only what a command was answered with is told to its end.
func (a *actor) clear(before time.Time) {
	for _, rec := range a.left {
		if e, known := a.known(rec); known && (answersCommand(rec) || rec.Began.After(before)) {
			a.deliver(rec, e)
			continue
		}
		a.leave(rec, a.shown(rec))
	}
	a.left = nil
	if a.turn != nil {
		a.queue.Reclaim(&a.turn.offers)
	}
	a.dropWaiting(func(chat.Inbound) bool { return true })
	a.forgive(func(chat.UserID) bool { return true })
}

// answersCommand says that a turn is what a command was answered with, or a request for access, or nobody.
func answersCommand(rec chat.Turn) bool {
	n := len(rec.Messages)
	if n == 0 {
		return true
	}
	last := rec.Messages[n-1]
	return last.Kind == chat.Command && !asksAgain(last) || last.Kind == chat.AccessRequest
}

// tells says that the turn only makes visible what an earlier process answered a command with: nobody's question.
func (t *turn) tells() bool { return t.recovered && answersCommand(chat.Turn{Messages: t.messages}) }

// leave ends a turn of an earlier process as it is; the history grows by what is given, unless it has grown already.
func (a *actor) leave(rec chat.Turn, g chat.Growth) {
	e := preview.Ending{Keep: true, Stopped: rec.State != chat.TurnDecided}
	switch {
	case rec.State == chat.TurnDecided:
		a.cut(rec.ID)
	case !rec.Void:
		a.decide(rec.ID, e, g)
	}
	a.redeliverParked(rec, e) // the messages of later replies come below its own
}

// fresh begins a new conversation. A running turn belongs to the old one: it ends now, and
// what it would have added to the history is void.
func (a *actor) fresh(m queue.Message, done TextKey) {
	a.cutParked(anyTurn)
	a.clear(m.Accepted)
	a.void()
	if err := a.g.store.histories.Forget(a.g.deliveries, a.conversation); err != nil {
		a.fail(m.Inbound, "history could not be deleted", err)
		return
	}
	a.say(m.Inbound, a.g.Texts[done])
}

// void ends the running turn, should there be one; it adds nothing to the history.
func (a *actor) void() {
	if a.turn != nil {
		a.turn.void = true
		a.interrupt(errStopped)
	}
}

// retry asks the sender's last question once more. Its answer, and one that is being given, is
// replaced in the history, not on the screen.
func (a *actor) retry(m queue.Message) {
	if !a.enqueue(m) {
		a.tooMany(m.Inbound)
		return
	}
	if t := a.turn; t != nil && !t.recovered && m.Sender.ID == t.in.Sender.ID {
		t.retries = append(t.retries, m.ID)
		a.interrupt(errNewMessage)
	}
}

// withdraw drops what waits to ask the question of a turn once more.
func (a *actor) withdraw(t *turn) {
	a.dropWaiting(func(m chat.Inbound) bool { return slices.Contains(t.retries, m.ID) })
}

// dropWaiting drops some of the messages that wait.
func (a *actor) dropWaiting(which func(chat.Inbound) bool) {
	for _, m := range a.queue.Remove(which) {
		a.drop(m)
	}
}

// undo takes the last question and its answer out of the history; one that is being given ends. What waits to be taken up
// is newer than a turn that runs.
func (a *actor) undo(in chat.Inbound) {
	t := a.turn
	switch {
	case t != nil && t.void: // it is taken back already: this one is about the turn before it
		t.then = append(t.then, func() { a.undo(in) })
	case len(a.left) > 0 && a.undoLeft(in):
	case t != nil && !t.tells() && mine(in, t.in.Sender.ID):
		a.void()
		a.withdraw(t)
		t.then = append(t.then, func() {
			if t.recovered || t.replaces != "" || !t.slot.Ending().Keep { // something of it is in the history
				a.undoLast(in)
				return
			}
			a.say(in, a.g.Texts[TextUndone])
		})
	default:
		a.undoLast(in)
	}
}

// undoLeft does so with the turns of an earlier process that wait to be taken up, and reports false when none of them is
// meant. What is decided and not in the history is no answer: a line that says why there is none, to a message too many for
// one.
func (a *actor) undoLeft(in chat.Inbound) bool {
	past, err := a.past()
	if err != nil {
		a.fail(in, "session could not be read", err)
		return true
	}
	for i, rec := range slices.Backward(a.left) {
		line := rec.State == chat.TurnDecided && !past.Has(rec.ID)
		if line || answersCommand(rec) || !mine(in, rec.User) {
			continue
		}
		a.left = slices.Delete(a.left, i, i+1)
		a.leave(rec, chat.Growth{Usage: a.unstoredUsage(rec)})
		if rec.State == chat.TurnDecided || rec.Replaces != "" { // something of it is in the history
			a.undoLast(in)
			return true
		}
		a.say(in, a.g.Texts[TextUndone])
		return true
	}
	return false
}

// undoLast deletes the newest turn of the history.
func (a *actor) undoLast(in chat.Inbound) {
	past, err := a.past()
	if err != nil {
		a.fail(in, "session could not be read", err)
		return
	}
	last, found := past.Newest()
	if !found || !mine(in, last.User) {
		a.say(in, a.g.Texts[TextNothingToUndo])
		return
	}
	a.cutParked(func(t *turn) bool { return t.id == last.Turn }) // nobody wants the rest of it
	says, e := a.record(in), preview.Ending{Text: a.g.Texts[TextUndone], At: time.Now()}
	says.Ending = encodeEnding(e)
	if _, err = a.g.store.histories.Undo(a.g.deliveries, a.conversation, says); err != nil {
		a.fail(in, "the last turn could not be undone", err)
		return
	}
	a.deliver(says, e)
}

// mine says whether a turn that somebody asked is for the sender of in to take back: in a group only
// their own is. Who asked is not known of what older versions stored.
func mine(in chat.Inbound, asker chat.UserID) bool {
	return in.To.Kind == chat.Private || asker == in.Sender.ID || asker == ""
}

// forget deletes everything that this person asked here, and what they were answered. A private
// conversation is theirs as a whole, and so is what they had remembered.
func (a *actor) forget(m queue.Message) {
	if m.To.Kind == chat.Private {
		if _, err := a.g.store.facts.ForgetFacts(a.g.deliveries, a.person(m.Inbound)); err != nil {
			a.fail(m.Inbound, "facts could not be forgotten", err)
			return
		}
		a.fresh(m, TextForgotten)
		return
	}
	if _, err := a.erase(m.Sender.ID); err != nil {
		a.fail(m.Inbound, "history could not be deleted", err)
		return
	}
	a.say(m.Inbound, a.g.Texts[TextForgotten])
}

// erase deletes what a person asked here, ends the turn that answers them and drops what they sent.
func (a *actor) erase(u chat.UserID) (int, error) {
	a.cutParked(func(t *turn) bool { return t.in.Sender.ID == u })
	a.left = slices.DeleteFunc(a.left, func(rec chat.Turn) bool {
		theirs := rec.User == u && !answersCommand(rec)
		if theirs {
			a.leave(rec, chat.Growth{Usage: a.unstoredUsage(rec)})
		}
		return theirs
	})
	if a.turn != nil && a.turn.in.Sender.ID == u {
		a.void()
		a.queue.Reclaim(&a.turn.offers) // for what follows
	}
	a.dropWaiting(func(m chat.Inbound) bool { return m.Sender.ID == u })
	a.forgive(func(who chat.UserID) bool { return who == u })
	return a.g.store.histories.Erase(a.g.deliveries, a.conversation, u)
}

// fail tells both sides that a command could not be carried out.
func (a *actor) fail(in chat.Inbound, what string, err error) {
	id := newID()
	a.log.Error(what, slog.String("turn", id), slog.Any("error", err)) //nolint:sloglint // one line for each command
	a.say(in, a.g.Texts.line(TextFailed, id))
}

// words returns the arguments of a command.
func words(in chat.Inbound) []string { return strings.Fields(in.Args) }
