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

// This file contains the commands that stop, repeat or undo an answer, and those that delete a conversation.

// Histories deletes parts of conversations.
type Histories interface {
	// Undo deletes the history entries of the newest turn that is not part of a summary, and returns them. Entries that an older
	// version of telex stored belong to no turn. Among entries that belong to no turn, the newest message of a person and all
	// entries after it count as one turn. The parameter says is the turn that tells people the result. Undo begins the turn in
	// the parameter says in the same transaction, as Begin does, so that the command /undo does not run again after a crash. If
	// the parameter says has no id, Undo begins no turn.
	Undo(ctx context.Context, c chat.Conversation, says chat.Turn) ([]chat.Entry, error)
	// Forget deletes the history entries and the summary of a conversation, but keeps the chosen model. If a turn runs
	// while Forget is called, the turn adds only its usage when it ends, and no entries.
	Forget(ctx context.Context, c chat.Conversation) error
	// Erase deletes the history entries of those turns in a conversation that answer a person's questions, and keeps the
	// person's running turns from adding entries. Erase also deletes the summary, because the summary may repeat something
	// that the person asked. After Erase, the entries of other people that the summary replaced are part of the history
	// again. Erase keeps the usage, so that nobody can evade a usage limit. Erase returns the number of deleted entries.
	Erase(ctx context.Context, c chat.Conversation, u chat.UserID) (int, error)
}

// asksAgain reports whether a message is the command /retry, which asks the last question again.
func asksAgain(in chat.Inbound) bool { return in.Kind == chat.Command && in.Command == cmdRetry }

// stop ends the running turn and drops the queued messages. If the reply has shown text, a note below this text says that the
// reply was stopped, and the /stop command gets no answer.
func (a *actor) stop(m queue.Message) {
	in := m.Inbound
	idle := a.turn == nil && a.queue.Len() == 0 && len(a.left) == 0
	if a.cutParked(anyTurn) {
		idle = false
	}
	marked := a.clear(m.Accepted)
	switch {
	case a.turn != nil:
		if earlier := a.turn.stoppedBy; earlier != nil {
			a.drop(*earlier)
		}
		a.turn.stoppedBy = &in
		a.interrupt(errStopped)
	case idle:
		a.say(in, a.g.texts()[TextNothing])
	default:
		a.confirmStop(in, marked)
	}
}

// clear drops the queued messages, and ends the turns in the field left without running them again. If an earlier process has
// shown text of a reply to one of these turns, the text stays. clear still delivers an answer that is already stored, if the
// turn answers a command or began after the given time. clear reports whether people see a text below which
// the bot now adds the stop mark.
func (a *actor) clear(before time.Time) (marked bool) {
	for _, rec := range a.left {
		if e, known := a.known(rec); known && (answersCommand(rec) || rec.Began.After(before)) {
			a.deliver(rec, e)
			continue
		}
		marked = marked || rec.State != chat.TurnDecided && slices.ContainsFunc(rec.Parts, stands)
		a.leave(rec, a.shown(rec))
	}
	a.left = nil
	if a.turn != nil {
		a.queue.Reclaim(&a.turn.offers)
	}
	a.dropWaiting(func(chat.Inbound) bool { return true })
	a.forgive(func(chat.UserID) bool { return true })
	return marked
}

// stands reports whether a part of a reply exists as a message in the chat and shows text of the reply.
func stands(p chat.Part) bool {
	return p.Index >= 0 && p.Text != "" && slices.Contains([]chat.PartState{chat.PartStands, chat.PartSealed, chat.PartStreams, chat.PartResent}, p.State)
}

// answersCommand reports whether a turn shows an answer with a fixed text. A turn with a fixed text answers a command
// other than /retry, a request for access, the opening of a pane, or no message at all.
func answersCommand(rec chat.Turn) bool {
	n := len(rec.Messages)
	if n == 0 {
		return true
	}
	last := rec.Messages[n-1]
	return last.Kind == chat.Command && !asksAgain(last) || last.Kind == chat.AccessRequest || last.Kind == chat.Opened
}

// The method tells reports whether the turn only delivers an answer with a fixed text that an earlier process stored, such as
// the answer to a command.
func (t *turn) tells() bool { return t.recovered && answersCommand(chat.Turn{Messages: t.messages}) }

// The method leave ends a turn that an earlier process began. The turn's reply gets no further text. The parameter g is what
// the turn adds to the history. The method leave ignores g if the field Void of the turn is set, or if the turn has already
// stored its entries.
func (a *actor) leave(rec chat.Turn, g chat.Growth) {
	e, _ := a.known(rec)
	e = preview.Ending{Keep: true, Stopped: e.Stopped, Text: e.Text, Cut: e.Cut, Note: e.Note}
	switch {
	case rec.State == chat.TurnDecided:
		a.cut(rec.ID, e)
	case !rec.Void:
		a.decide(rec.ID, e, g)
	}
	a.redeliverParked(rec, e) // later replies must wait for this reply, because their messages come below it
}

// fresh begins a new conversation. A running turn belongs to the old conversation, so this method ends the turn, and the turn
// adds nothing to the history.
func (a *actor) fresh(m queue.Message, done TextKey) {
	a.cutParked(anyTurn)
	a.clear(m.Accepted)
	a.void()
	if err := a.g.store.histories.Forget(a.g.deliveries, a.conversation); err != nil {
		a.fail(m.Inbound, "history could not be deleted", err)
		return
	}
	a.say(m.Inbound, a.g.texts()[done])
}

// void ends the running turn, which then adds nothing to the history. If no turn runs, the method void does nothing.
func (a *actor) void() {
	if a.turn != nil {
		a.turn.void = true
		a.interrupt(errStopped)
	}
}

// retry asks the sender's last question again. In the history, the new answer replaces the earlier answer. In the
// chat, people still see the earlier answer.
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

// withdraw drops the queued /retry commands that ask a turn's question again.
func (a *actor) withdraw(t *turn) {
	a.dropWaiting(func(m chat.Inbound) bool { return slices.Contains(t.retries, m.ID) })
}

// dropWaiting drops the queued messages for which the parameter which returns true.
func (a *actor) dropWaiting(which func(chat.Inbound) bool) {
	for _, m := range a.queue.Remove(which) {
		a.drop(m)
	}
}

// undo removes the last question and its answer from the history. If the last answer is still in progress, the method undo
// stops the answer. Turns that wait to be resumed are newer than the running turn, so the method undo first tries to undo one
// of those.
func (a *actor) undo(in chat.Inbound) {
	t := a.turn
	switch {
	case t != nil && t.void: // the running turn was already undone, so this command is about the turn before it
		t.then = append(t.then, func() { a.undo(in) })
	case len(a.left) > 0 && a.undoLeft(in):
	case t != nil && !t.tells() && mine(in, t.in.Sender.ID):
		a.void()
		a.withdraw(t)
		t.then = append(t.then, func() {
			if t.recovered || t.replaces != "" || !t.slot.Ending().Keep { // the history has an answer to this question
				a.undoLast(in)
				return
			}
			a.say(in, a.g.texts()[TextUndone])
		})
	default:
		a.undoLast(in)
	}
}

// undoLeft undoes the newest turn that waits to be resumed and that the sender may undo. If no turn matches, undoLeft
// returns false. undoLeft skips a turn whose answer is stored but that has no entries in the history. A turn without
// entries only shows a line with a fixed text, for example that too many messages wait.
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
		if rec.State == chat.TurnDecided || rec.Replaces != "" { // the history has an answer to this question
			a.undoLast(in)
			return true
		}
		a.say(in, a.g.texts()[TextUndone])
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
		a.say(in, a.g.texts()[TextNothingToUndo])
		return
	}
	a.cutParked(func(t *turn) bool { return t.id == last.Turn }) // people no longer want the rest of this reply
	says, e := a.record(in), preview.Ending{Text: a.g.texts()[TextUndone], At: time.Now()}
	says.Ending = encodeEnding(e)
	if _, err = a.g.store.histories.Undo(a.g.deliveries, a.conversation, says); err != nil {
		a.fail(in, "the last turn could not be undone", err)
		return
	}
	a.deliver(says, e)
}

// mine reports whether the sender of a message may undo a turn whose question the user asker sent. In a group, people may
// undo only their own turns. Everybody may undo turns that an older version of telex stored without an asker.
func mine(in chat.Inbound, asker chat.UserID) bool {
	return in.To.Kind == chat.Private || asker == in.Sender.ID || asker == ""
}

// forget deletes all questions of the sender in this conversation, and their answers. In a private chat, the method forget
// deletes the whole conversation and the facts that the bot remembers about the person.
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
	a.say(m.Inbound, a.g.texts()[TextForgotten])
}

// erase deletes a person's questions in this conversation and their answers, ends the person's running turn, and drops
// the person's queued messages.
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
		a.queue.Reclaim(&a.turn.offers) // return these messages to the queue, where dropWaiting finds them
	}
	a.dropWaiting(func(m chat.Inbound) bool { return m.Sender.ID == u })
	a.forgive(func(who chat.UserID) bool { return who == u })
	return a.g.store.histories.Erase(a.g.deliveries, a.conversation, u)
}

// fail logs the failure of a command and tells the sender about it. If this process has lost its lease, the method fail
// neither logs the failure nor tells the sender.
func (a *actor) fail(in chat.Inbound, what string, err error) {
	if a.g.CheckLease(err) {
		return
	}
	id := newID()
	a.log.Error(what, slog.String("turn", id), slog.Any("error", err)) //nolint:sloglint // one line for each command
	a.say(in, a.g.texts().line(TextFailed, id))
}

// words splits the arguments of a command into words.
func words(in chat.Inbound) []string { return strings.Fields(in.Args) }
