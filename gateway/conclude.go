package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"telex/gateway/history"
	"telex/gateway/preview"
	"telex/internal/chat"
)

// conclude runs the steps at the end of a turn. If a step panics, the later steps still run, and conclude returns the
// panics as an error.
//
// The order of the steps at the end of a turn matters. First, the messages that were offered to the turn, but that it did
// not take, return to the queue, because a later step may put the turn's own messages before them. The report to the log
// comes before the writes to the store, because the writes may fail. The end of the turn is stored before any line is sent
// to people. Each line is stored as a turn of its own, and the store must have the end of the earlier turn first. The lines
// that people get go from general to specific, and the answer to /stop is the last line. Functions that waited for the end
// of the turn run last; the function of an /undo, for example, needs the history that the turn has changed. If a shutdown
// interrupted the delivery of the reply, the turn has not ended. A turn that has not ended stays in the store, together with
// the commands that wait for its end, and the next process continues with them.
func (a *actor) conclude(t *turn) error {
	type step struct {
		name string
		do   func(*turn)
	}
	steps := []step{
		{"take back what was offered", func(t *turn) { a.queue.Reclaim(&t.offers) }},
		{"report", a.report},
		{"store the end", a.end},
	}
	if a.g.deliveries.Err() == nil {
		steps = append(steps, []step{
			{"tell of a summary", a.tellSummary},
			{"tell what was done", a.tellCarriedOut},
			{"tell of a failure", a.tellFailure},
			{"answer /stop", a.stopped},
			{"do what waited for the end", a.afterwards},
		}...)
	}
	var failed error
	for _, step := range steps {
		if err := caught(func() { step.do(t) }); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", step.name, err))
		}
	}
	return failed
}

// end stores how a turn ended. If a turn continues, in the next process or together with the messages that interrupted the
// turn, the method end stores that the turn continues.
func (a *actor) end(t *turn) {
	e := t.slot.Ending()
	if t.outcome.Nameless {
		a.endpoint.nameless.Store(true)
	}
	switch {
	case !t.stored.Load():
		a.abandon(t)
		return
	case t.delivery.parked:
		a.settleAsShown(t, t.delivery.growth)
	case t.recovered, !e.Keep:
		a.settle(t.id, t.outcome, t.delivery.growth)
	case (t.why == nil || e.Stand && errors.Is(t.why, errNewMessage)) && !t.unseen && !t.panicked():
		// The daemon is stopping, so the next process runs the turn again. The daemon may have begun to stop before the message
		// that interrupted the turn came.
		a.handOver(t)
		return
	case len(t.edited) > 0 && e.Stand:
		a.startOver(t)
		return
	case t.void:
		if t.outcome.Unfinished { // the end of the turn is stored later, perhaps by another process
			a.keepUsage(t)
		}
		a.settleAsShown(t, chat.Growth{Usage: history.Usage(t.result.UsageByModel)})
	case errors.Is(t.why, errNewMessage) && len(t.outcome.Refs) == 0 && !t.journal.Changed():
		if t.outcome.Doubt && a.g.isStopping() {
			a.handOver(t) // a message of the reply may exist in the chat: the next process checks this and runs the turn again
		} else {
			a.requeue(t)
		}
		return
	default:
		a.settleAsShown(t, a.grown(t, t.outcome.Shown))
	}
	a.concluded(hasFailed(t.outcome, e) || t.panicked(), t.answered()...)
}

// panicked reports whether a panic kept the reply from being shown or its ending from being stored.
func (t *turn) panicked() bool { return errors.Is(t.outcome.Err, errPanic) || t.broken != nil }

// tellFailure tells the asker that a turn failed because of a panic.
func (a *actor) tellFailure(t *turn) {
	if t.panicked() {
		a.say(t.in, a.g.texts().line(TextFailed, t.id))
	}
}

// afterwards runs the functions, such as an /undo, that waited for the end of a turn.
func (a *actor) afterwards(t *turn) {
	for _, f := range t.then {
		f()
	}
}

// grown returns what an interrupted turn adds to the session. The parameter shown is the text of the reply that people saw.
func (a *actor) grown(t *turn, shown string) chat.Growth {
	growth, err := t.history.Growth(t.said(preview.Ending{Keep: true, Text: shown}), t.result, t.replaces != "")
	if err != nil {
		a.log.Error("history was not stored", slog.String("turn", t.id), slog.Any("error", err))
	}
	return growth
}

// abandon gives up a turn that did not begin because the store failed. The messages of a turn that did not begin are
// still in the store.
func (a *actor) abandon(t *turn) {
	switch {
	case t.why == nil: // the daemon is stopping: the next process answers the messages
		return
	case errors.Is(t.why, errNewMessage):
		a.withdraw(t)
		a.queue.PutBack(t.messages)
	default:
		a.drop(t.messages...)
	}
}

// tellSummary tells the asker that the beginning of the conversation was summarized. tellSummary does this once per
// conversation.
func (a *actor) tellSummary(t *turn) {
	if t.result.Compaction == nil || t.history.Compactions > 0 || t.void || a.g.isStopping() {
		return
	}
	a.answer(preview.Ending{Text: a.g.texts()[TextCompacted]}, t.in.To)
}

// The method stopped answers the /stop command that ended a turn. If the reply has shown text, a note below this text says
// that the reply was stopped, and the /stop command gets no answer.
func (a *actor) stopped(t *turn) {
	if t.stoppedBy != nil {
		a.confirmStop(*t.stoppedBy, t.outcome.Readable)
	}
}

// confirmStop answers a /stop command, unless people see that the reply has stopped. After the context Gateway.deliveries
// has ended, confirmStop can store nothing. The /stop command then stays in the store, and the next process stops the reply
// again.
func (a *actor) confirmStop(in chat.Inbound, visible bool) {
	switch {
	case a.g.deliveries.Err() != nil:
	case visible:
		a.drop(in)
	default:
		a.say(in, a.g.texts()[TextStopped])
	}
}

// requeue puts the question of an interrupted turn back into the queue, before the message that interrupted the turn.
// The next turn then answers the question and the message together.
func (a *actor) requeue(t *turn) {
	a.write("release of a turn", t.id, func(ctx context.Context) error {
		return a.g.store.turns.Release(ctx, t.id, history.Usage(t.result.UsageByModel)...)
	})
	a.withdraw(t) // requests to repeat the question are no longer needed, because the question is queued again
	a.queue.PutBack(t.answered())
}

// concluded tells the adapter that messages have been answered, if the adapter implements Concluder.
func (a *actor) concluded(failed bool, messages ...chat.Inbound) {
	if a.endpoint.account().concluder == nil || len(messages) == 0 {
		return
	}
	ids := make([]chat.MessageID, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	a.endpoint.account().concluder.Concluded(messages[len(messages)-1].To, ids, failed)
}

// hasFailed reports whether a reply has failed: either the reply was not delivered, or it is incomplete and a note
// below it says why.
func hasFailed(out preview.Outcome, e preview.Ending) bool { return !out.Delivered || e.Note != "" }

// The method repeated handles a stored message that an adapter delivers again. If the message is already answered, the
// method repeated tells the adapter that the message is answered. The adapter may not know that the message is answered,
// because an earlier process may have died after the answer and before it told the adapter.
func (g *Gateway) repeated(ctx context.Context, e *endpoint, c chat.Conversation, in chat.Inbound) error {
	concluder := e.account().concluder
	if concluder == nil {
		return nil
	}
	pending, err := g.store.inbox.Pending(ctx)
	if err != nil {
		return fmt.Errorf("read accepted messages: %w", err)
	}
	turns, err := g.store.turns.Unfinished(ctx) // read after the inbox, because a message may move from the inbox to a turn
	if err != nil {
		return fmt.Errorf("read unfinished turns: %w", err)
	}
	same := func(m chat.Inbound) bool { return m.ID == in.ID }
	open := slices.ContainsFunc(pending, func(p chat.Pending) bool { return p.Conversation == c && same(p.Message) }) ||
		slices.ContainsFunc(turns, func(t chat.Turn) bool { return t.Conversation == c && slices.ContainsFunc(t.Messages, same) })
	if !open {
		concluder.Concluded(in.To, []chat.MessageID{in.ID}, false)
	}
	return nil
}
