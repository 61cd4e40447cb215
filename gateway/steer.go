package gateway

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"telex/agent"
	"telex/internal/chat"
)

// steering is what people say to a running turn. The actor offers, the turn's goroutine takes.
type steering struct {
	mu     sync.Mutex
	waits  []message
	taken  []agent.Message
	joined []chat.Inbound // what taken was made of
	closed bool           // the turn takes nothing more
}

// steerable says whether the turn may still take something in.
func (t *turn) steerable() bool {
	t.steer.mu.Lock()
	defer t.steer.mu.Unlock()
	return !t.recovered && !t.steer.closed
}

func (t *turn) offer(m message) {
	t.steer.mu.Lock()
	defer t.steer.mu.Unlock()
	t.steer.waits = append(t.steer.waits, m)
}

// offered is how many messages wait for the turn to take them.
func (t *turn) offered() int {
	t.steer.mu.Lock()
	defer t.steer.mu.Unlock()
	return len(t.steer.waits)
}

// leftover returns what the turn did not take, and ends the offer.
func (t *turn) leftover() []message {
	t.steer.mu.Lock()
	defer t.steer.mu.Unlock()
	m := t.steer.waits
	t.steer.waits, t.steer.closed = nil, true
	return m
}

// heard returns what was said to the turn and taken by it.
func (t *turn) heard() []agent.Message {
	t.steer.mu.Lock()
	defer t.steer.mu.Unlock()
	return t.steer.taken
}

// answered returns all messages that the turn answers.
func (t *turn) answered() []chat.Inbound {
	t.steer.mu.Lock()
	defer t.steer.mu.Unlock()
	return slices.Concat(t.messages, t.steer.joined)
}

// more hands the turn what was said to it, which it answers too from now on: durably, so that a
// restart asks for all of it.
func (a *actor) more(ctx context.Context, t *turn) []agent.Message {
	t.steer.mu.Lock()
	defer t.steer.mu.Unlock()
	if len(t.steer.waits) == 0 || t.steer.closed || ctx.Err() != nil {
		return nil
	}
	var ids []chat.MessageID
	var messages []agent.Message
	joined := inbounds(t.steer.waits)
	for _, m := range joined {
		ids = append(ids, m.ID)
		messages = append(messages, a.words(m))
	}
	if err := a.g.Store.Join(context.WithoutCancel(ctx), t.id, ids...); err != nil { // what is taken must be stored
		a.log.Error("messages were not put to the turn: they wait for the next", slog.String("turn", t.id), slog.Any("error", err))
		return nil
	}
	t.steer.waits = nil
	t.steer.taken = append(t.steer.taken, messages...)
	t.steer.joined = append(t.steer.joined, joined...)
	return messages
}
