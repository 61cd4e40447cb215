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

// conclude settles what a turn that has ended leaves behind, step by step. Every step runs, also when one before it panics;
// conclude returns what panicked.
//
// The order has reasons. What the turn did not take goes back first, since the end may put the turn's own messages before it. The
// log comes before the store, which may fail. The store comes before every line that people are told: a line is a turn of its own,
// and the next process must find this one ended before it. The lines read from the general to the particular, and the answer to
// /stop ends them. What waited for the end comes last: an /undo needs the history as the turn left it.
func (a *actor) conclude(t *turn) error {
	var failed error
	for _, step := range []struct {
		name string
		do   func(*turn)
	}{
		{"take back what was offered", func(t *turn) { a.queue.Reclaim(&t.offers) }},
		{"report", a.report},
		{"store the end", a.end},
		{"tell of a summary", a.tellSummary},
		{"tell what was done", a.tellCarriedOut},
		{"tell of a failure", a.tellFailure},
		{"answer /stop", a.stopped},
		{"do what waited for the end", a.afterwards},
	} {
		if err := caught(func() { step.do(t) }); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", step.name, err))
		}
	}
	return failed
}

// end stores how a turn ended, or that it goes on: with the messages that interrupted it, or in the next process.
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
	case t.why == nil && !t.unseen && !t.panicked(): // the daemon is stopping: the next process runs the turn again
		a.keepSpent(t)
		return
	case t.void:
		if t.outcome.Undone { // its end is stored later, perhaps by another process
			a.keepSpent(t)
		}
		a.settleAsShown(t, chat.Growth{Usage: history.Usage(t.result.Spent)})
	case errors.Is(t.why, errNewMessage) && len(t.outcome.Refs) == 0 && !t.journal.Changed():
		if t.outcome.Doubt && a.g.isStopping() {
			a.keepSpent(t) // something may stand: the next process, which can find out, runs the turn again
		} else {
			a.requeue(t)
		}
		return
	default:
		a.settleAsShown(t, a.grown(t, t.outcome.Shown))
	}
	a.concluded(fell(t.outcome, e) || t.panicked(), t.answered()...)
}

// panicked reports whether a panic kept the reply from being shown or its ending from being stored.
func (t *turn) panicked() bool { return errors.Is(t.outcome.Err, errPanic) || t.broken != nil }

// tellFailure says that a turn panicked.
func (a *actor) tellFailure(t *turn) {
	if t.panicked() {
		a.say(t.in, a.g.Texts.line(TextFailed, t.id))
	}
}

// afterwards does what waited for the end of a turn.
func (a *actor) afterwards(t *turn) {
	for _, f := range t.then {
		f()
	}
}

// grown is what the session grows by when an interrupted turn has shown a text.
func (a *actor) grown(t *turn, shown string) chat.Growth {
	growth, err := t.history.Growth(t.said(preview.Ending{Keep: true, Text: shown}), t.result, t.replaces != "")
	if err != nil {
		a.log.Error("history was not stored", slog.String("turn", t.id), slog.Any("error", err))
	}
	return growth
}

// abandon gives up a turn that did not begin, since the store did not take it. Its messages wait there as before.
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

// tellSummary says, once in a conversation, that its beginning was summarized.
func (a *actor) tellSummary(t *turn) {
	if t.result.Compaction == nil || t.history.Compactions > 0 || t.void || a.g.isStopping() {
		return
	}
	a.answer(preview.Ending{Text: a.g.Texts[TextCompacted]}, t.in.To)
}

// stopped answers the command that ended a turn. What was shown stays, so that only a reply that
// had shown nothing needs a word.
func (a *actor) stopped(t *turn) {
	if t.stoppedBy != nil {
		a.confirmStop(*t.stoppedBy, len(t.outcome.Refs) > 0)
	}
}

// confirmStop answers a command that stopped a reply. Once deliveries have ended, so has the storing of what they came to: the command
// stays in the store, and stops the reply in the next process again.
func (a *actor) confirmStop(in chat.Inbound, visible bool) {
	switch {
	case a.g.deliveries.Err() != nil:
	case visible:
		a.drop(in)
	default:
		a.say(in, a.g.Texts[TextStopped])
	}
}

// requeue puts a question of which nothing was answered before the one that interrupted it:
// they are answered together.
func (a *actor) requeue(t *turn) {
	a.write("release of a turn", t.id, func(ctx context.Context) error {
		return a.g.store.turns.Release(ctx, t.id, history.Usage(t.result.Spent)...)
	})
	a.withdraw(t) // it is asked again by itself
	a.queue.PutBack(t.answered())
}

// concluded tells an adapter that wants to know that messages have been answered.
func (a *actor) concluded(failed bool, messages ...chat.Inbound) {
	if a.endpoint.told == nil || len(messages) == 0 {
		return
	}
	ids := make([]chat.MessageID, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	a.endpoint.told.Concluded(messages[len(messages)-1].To, ids, failed)
}

// fell says that a reply is no answer: it was not delivered, or it broke off and a note says why.
func fell(out preview.Outcome, e preview.Ending) bool { return !out.Delivered || e.Note != "" }

// repeated tells an adapter that offers a known message again that it was answered, if it was: the adapter of an earlier
// process may not have been told in time.
func (g *Gateway) repeated(ctx context.Context, c chat.Conversation, in chat.Inbound) error {
	told := g.endpoints[c.Endpoint].told
	if told == nil {
		return nil
	}
	pending, err := g.store.inbox.Pending(ctx)
	if err != nil {
		return fmt.Errorf("read accepted messages: %w", err)
	}
	turns, err := g.store.turns.Unfinished(ctx) // after what is pending: a message goes from there to a turn
	if err != nil {
		return fmt.Errorf("read unfinished turns: %w", err)
	}
	same := func(m chat.Inbound) bool { return m.ID == in.ID }
	open := slices.ContainsFunc(pending, func(p chat.Pending) bool { return p.Conversation == c && same(p.Message) }) ||
		slices.ContainsFunc(turns, func(t chat.Turn) bool { return t.Conversation == c && slices.ContainsFunc(t.Messages, same) })
	if !open {
		told.Concluded(in.To, []chat.MessageID{in.ID}, false)
	}
	return nil
}
