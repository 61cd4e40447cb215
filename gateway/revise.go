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
	// Revise replaces the text of a message that is not answered yet. If a turn is answering the message, Revise deletes
	// everything except the usage from the turn's journal, and deletes the source text of the reply's parts. If the store
	// does not have the message, Revise fails with an error that wraps chat.ErrUnknown.
	Revise(ctx context.Context, c chat.Conversation, in chat.Inbound) error
}

// editTime is the maximum age of an answer that starts over because its question was edited. An answer older than
// editTime does not start over, because people may already have read most of it.
const editTime = time.Minute

// errEdited is the cause with which a turn is interrupted if its question was edited. A turn that was interrupted with
// errEdited runs again.
var errEdited = errors.New("the question was edited")

// revise tells the actor of a conversation that a message was edited or deleted. revise does nothing if the
// conversation has no actor. An edit matters only for a question that waits or is being answered, and the conversation
// of such a question has an actor.
func (g *Gateway) revise(ctx context.Context, c chat.Conversation, in chat.Inbound) error {
	if g.shared != nil {
		_, err := g.forward(ctx, c, in)
		return err
	}
	g.tell(c, in)
	return nil
}

// The method tell passes a message that is not stored, such as an edit, to the actor of a conversation. The method tell
// returns false if the conversation has no actor.
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

// revise handles the edit or the deletion of a question that waits or is being answered.
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

// The function edit replaces the text of a question by its edited text. The function edit returns false if the edit
// must be ignored or does not change the text.
func edit(m *chat.Inbound, edited chat.Inbound) bool {
	command := strings.HasPrefix(edited.Text, "/") // an edit must not turn a question into a command
	if m.Kind != chat.Text || m.Origin != chat.Typed || m.Sender.ID != edited.Sender.ID || m.Text == edited.Text || command || len(edited.Text) > maxText {
		return false
	}
	m.Text = edited.Text
	return true
}

// isDecided reports whether the gateway has decided how the turn's reply ends.
func (t *turn) isDecided() bool {
	select {
	case <-t.delivery.decided:
		return true
	default:
		return false
	}
}

// canStartOver reports whether the turn may run again because its question was edited. If a tool call has changed
// something, the turn may not run again, because the call would be made twice.
func (t *turn) canStartOver() bool {
	return t.startsOver() || t.why == nil && t.stored.Load() && !t.recovered && !t.isDecided() && t.replaces == "" &&
		!t.journal.Changed() && t.runs < maxRuns && time.Since(t.began) <= editTime
}

// startsOver reports whether the turn was interrupted because its question was edited. A turn that starts over runs
// again once the last call for its reply has ended.
func (t *turn) startsOver() bool { return errors.Is(t.why, errEdited) }

// startOver runs a turn again, with the edited question. In the chat, the new answer replaces the text of the old
// answer's messages. If the turn was stopped meanwhile, or a tool call has changed something, startOver does not run
// the turn again, and the reply keeps its visible text.
func (a *actor) startOver(t *turn) {
	a.keepUsage(t)
	again := errors.Is(t.why, errEdited) && !t.journal.Changed() && !t.void
	rec, err := a.revised(t, again)
	switch {
	case err != nil: // the turn stays in the store, and the next process continues it
		a.log.Error("an answer could not start over", slog.String("turn", t.id), slog.Any("error", err))
		a.say(t.in, a.g.texts().line(TextFailed, t.id))
	case again:
		a.log.Info("the answer starts over: its question was edited", slog.String("turn", t.id))
		rec.Began = time.Now() // the question counts as asked at the time of the edit
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

// The method revised returns the stored record of a turn. If the parameter again is true, the method revised first
// stores the edited messages of the turn.
func (a *actor) revised(t *turn, again bool) (chat.Turn, error) {
	// Revise deletes the source text of the old answer from the store. A record of a preview edit that is stored after
	// Revise would bring back a part of the old text.
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
