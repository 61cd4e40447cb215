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

// conclude runs the steps at the end of a turn. Every step runs, even if an earlier one panics; conclude returns
// the panics.
//
// The order matters. Offered messages that the turn did not take return to the queue first, since a later step may
// put the turn's own messages before them. The report to the log comes before the writes to the store, which may
// fail. The turn's end is stored before any line is sent to people: each line is stored as a turn of its own, and
// the store must not have it before this turn's end. The lines go from general to specific, and the answer to /stop
// is the last one. Functions that waited for the end run last: an /undo needs the history as the turn left it. If
// shutdown interrupted the delivery, the turn has not ended: the next process finds it with the commands that wait
// for its end.
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

// end stores how a turn ended, or that it continues, either with the messages that interrupted it or in the next
// process.
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
		// The daemon is stopping, perhaps since before the new message: the next process runs the turn again.
		a.handOver(t)
		return
	case len(t.edited) > 0 && e.Stand:
		a.startOver(t)
		return
	case t.void:
		if t.outcome.Unfinished { // its end is stored later, perhaps by another process
			a.keepUsage(t)
		}
		a.settleAsShown(t, chat.Growth{Usage: history.Usage(t.result.UsageByModel)})
	case errors.Is(t.why, errNewMessage) && len(t.outcome.Refs) == 0 && !t.journal.Changed():
		if t.outcome.Doubt && a.g.isStopping() {
			a.handOver(t) // a message may exist: the next process, which can find out, runs the turn again
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

// tellFailure tells the asker that a turn panicked.
func (a *actor) tellFailure(t *turn) {
	if t.panicked() {
		a.say(t.in, a.g.texts().line(TextFailed, t.id))
	}
}

// afterwards runs the functions that waited for the end of a turn.
func (a *actor) afterwards(t *turn) {
	for _, f := range t.then {
		f()
	}
}

// grown returns the session growth for an interrupted turn that has shown a text.
func (a *actor) grown(t *turn, shown string) chat.Growth {
	growth, err := t.history.Growth(t.said(preview.Ending{Keep: true, Text: shown}), t.result, t.replaces != "")
	if err != nil {
		a.log.Error("history was not stored", slog.String("turn", t.id), slog.Any("error", err))
	}
	return growth
}

// abandon gives up a turn that did not begin because storing it failed. Its messages stay in the store.
func (a *actor) abandon(t *turn) {
	switch {
	case t.why == nil: // the daemon is stopping: the next process answers them
		return
	case errors.Is(t.why, errNewMessage):
		a.withdraw(t)
		a.queue.PutBack(t.messages)
	default:
		a.drop(t.messages...)
	}
}

// tellSummary tells the asker, once per conversation, that its beginning was summarized.
func (a *actor) tellSummary(t *turn) {
	if t.result.Compaction == nil || t.history.Compactions > 0 || t.void || a.g.isStopping() {
		return
	}
	a.answer(preview.Ending{Text: a.g.texts()[TextCompacted]}, t.in.To)
}

// stopped answers the command that stopped a turn. Text that was shown stays visible, so the command is answered
// only if the reply had shown nothing.
func (a *actor) stopped(t *turn) {
	if t.stoppedBy != nil {
		a.confirmStop(*t.stoppedBy, t.outcome.Readable)
	}
}

// confirmStop answers a command that stopped a reply. Once the context deliveries has ended, nothing can be stored.
// The command then stays in the store, and the next process stops the reply again.
func (a *actor) confirmStop(in chat.Inbound, visible bool) {
	switch {
	case a.g.deliveries.Err() != nil:
	case visible:
		a.drop(in)
	default:
		a.say(in, a.g.texts()[TextStopped])
	}
}

// requeue puts an unanswered question before the message that interrupted it, so that both are answered
// together.
func (a *actor) requeue(t *turn) {
	a.write("release of a turn", t.id, func(ctx context.Context) error {
		return a.g.store.turns.Release(ctx, t.id, history.Usage(t.result.UsageByModel)...)
	})
	a.withdraw(t) // requeued with the question
	a.queue.PutBack(t.answered())
}

// concluded tells an adapter, if it wants to know, that messages have been answered.
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

// hasFailed reports whether a reply failed: it was not delivered, or it was cut off and a note tells why.
func hasFailed(out preview.Outcome, e preview.Ending) bool { return !out.Delivered || e.Note != "" }

// repeated handles a stored message that an adapter delivers again. If the message is already answered, repeated
// tells the adapter so, because an earlier process may have ended before it did that.
func (g *Gateway) repeated(ctx context.Context, e *endpoint, c chat.Conversation, in chat.Inbound) error {
	concluder := e.account().concluder
	if concluder == nil {
		return nil
	}
	pending, err := g.store.inbox.Pending(ctx)
	if err != nil {
		return fmt.Errorf("read accepted messages: %w", err)
	}
	turns, err := g.store.turns.Unfinished(ctx) // read after the inbox: a message moves from there to a turn
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
