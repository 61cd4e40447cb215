package gateway

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"telex/gateway/history"
	"telex/gateway/preview"
	"telex/gateway/queue"
	"telex/internal/chat"
)

// Revisions changes questions that people edit before they are answered.
type Revisions interface {
	// Revise replaces an unfinished message. If a turn has it, the turn's journal keeps only the usage, and its
	// parts lose their source text. It fails with an error that wraps chat.ErrUnknown if there is no such message.
	Revise(ctx context.Context, c chat.Conversation, in chat.Inbound) error
}

// editTime is the maximum age of an answer that starts over because its question was edited. People may already
// have read most of an older answer.
const editTime = time.Minute

// errEdited is the reason for interrupting a turn whose question was edited. The turn runs again.
var errEdited = errors.New("the question was edited")

// revise tells the conversation, if it is active, that a message was edited or deleted. It stores nothing: only a
// question that waits or is being answered matters, and its conversation is active.
func (g *Gateway) revise(ctx context.Context, c chat.Conversation, in chat.Inbound) error {
	if g.shared != nil {
		_, err := g.forward(ctx, c, in)
		return err
	}
	g.tell(c, in)
	return nil
}

// tell gives a message that is not stored to the conversation, if it is active. It reports whether the conversation
// is active.
func (g *Gateway) tell(c chat.Conversation, in chat.Inbound) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.actors[c]
	if a == nil {
		return false
	}
	a.inbox = append(a.inbox, queue.Message{Inbound: in, Accepted: time.Now()})
	if a.given.IsZero() {
		a.given = time.Now()
	}
	a.poke()
	return true
}

// revise applies an edit or a deletion to a question that waits or is being answered.
func (a *actor) revise(in chat.Inbound) {
	same := func(m chat.Inbound) bool { return m.ID == in.ID }
	t := a.turn
	switch {
	case in.Kind == chat.Deleted:
		if removed := a.queue.Remove(same); len(removed) > 0 {
			a.drop(removed...)
		}
		if t != nil && same(t.in) && !t.recovered && (t.startsOver() || !t.isDecided()) {
			a.interrupt(errStopped)
		}
	case a.g.current().OnEdit == IgnoreEdit || in.Text == "":
	case a.queue.Revise(func(m *queue.Message) bool { return same(m.Inbound) && edit(&m.Inbound, in) }):
		for _, m := range a.queue.Waiting(same) {
			a.write("an edited message", "", func(ctx context.Context) error { return a.g.store.revisions.Revise(ctx, a.conversation, m) })
		}
	case t != nil && t.canStartOver():
		asked := slices.Concat(t.messages, t.edited) // the newest version of each message comes last
		for _, m := range slices.Backward(asked) {
			if !same(m) {
				continue
			}
			if edit(&m, in) {
				t.edited = append(t.edited, m)
				a.interrupt(errEdited)
			}
			return
		}
	}
}

// edit gives a question the text of its edited version. It reports whether that makes a difference.
func edit(m *chat.Inbound, edited chat.Inbound) bool {
	command := strings.HasPrefix(edited.Text, "/") // a question does not become a command by an edit
	if m.Kind != chat.Text || m.Origin != chat.Typed || m.Sender.ID != edited.Sender.ID || m.Text == edited.Text || command || len(edited.Text) > maxText {
		return false
	}
	m.Text = edited.Text
	return true
}

// isDecided reports whether the ending of the turn is known.
func (t *turn) isDecided() bool {
	select {
	case <-t.delivery.decided:
		return true
	default:
		return false
	}
}

// canStartOver reports whether the turn may run again because of an edit. It may not once a call has changed something:
// the call would be made twice.
func (t *turn) canStartOver() bool {
	return t.startsOver() || t.why == nil && t.stored.Load() && !t.recovered && !t.isDecided() && t.replaces == "" &&
		!t.journal.Changed() && t.runs < maxRuns && time.Since(t.began) <= editTime
}

// startsOver reports whether the turn will run again because of an edit, once its reply's last call has ended.
func (t *turn) startsOver() bool { return errors.Is(t.why, errEdited) }

// startOver runs a turn with an edited question again; the new answer replaces the text of the same messages. If
// the turn was stopped meanwhile, or a call changed something, the reply stays as it is shown instead.
func (a *actor) startOver(t *turn) {
	a.keepUsage(t)
	again := errors.Is(t.why, errEdited) && !t.journal.Changed() && !t.void
	rec, err := a.revised(t, again)
	switch {
	case err != nil: // the next process continues the turn
		a.log.Error("an answer can't start over", slog.String("turn", t.id), slog.Any("error", err))
		a.say(t.in, a.g.texts().line(TextFailed, t.id))
	case again:
		a.log.Info("the answer starts over: its question was edited", slog.String("turn", t.id))
		rec.Began = time.Now() // the question counts as asked when it was edited
		a.left = slices.Insert(a.left, 0, rec)
		if t.outcome.Alone {
			delete(a.taken, t.id)
		}
	default:
		e, growth := preview.Ending{Keep: true, Stopped: true}, chat.Growth{Usage: history.Usage(t.result.UsageByModel)}
		if !t.void {
			growth = a.grown(t, t.outcome.Shown)
		}
		a.decide(t.id, e, growth)
		a.conclusion(rec, e, t.outcome)
	}
}

// revised stores the edited messages of a turn that runs again, and returns the turn's record.
func (a *actor) revised(t *turn, again bool) (chat.Turn, error) {
	// Revise forgets the Markdown of the old answer; a record that is stored later would bring a piece of it back.
	if err := a.g.edits.drop(a.g.deliveries, t.id); err != nil {
		return chat.Turn{}, err
	}
	for _, m := range t.edited {
		if !again {
			break
		}
		if err := a.g.store.revisions.Revise(a.g.deliveries, a.conversation, m); err != nil {
			return chat.Turn{}, err
		}
	}
	turns, err := a.g.store.turns.Unfinished(a.g.deliveries)
	if err != nil {
		return chat.Turn{}, err
	}
	for _, rec := range turns {
		if rec.ID == t.id {
			return rec, nil
		}
	}
	return chat.Turn{}, chat.ErrUnknown
}
