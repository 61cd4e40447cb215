package gateway

import (
	"context"

	"telex/internal/chat"
)

// Marker is an adapter that can show on a message that it waits for its turn.
type Marker interface {
	// Mark shows the sign that a message waits, or removes it. Both can be repeated. Errors are a *chat.SendError.
	Mark(ctx context.Context, ref chat.MessageRef, waits bool) error
}

// mark shows a sign on a queued message that it waits; unmark removes the sign. The sign is not essential: its
// calls have the lowest priority, and failures are ignored. If the process dies, signs stay; the next process
// removes them.
func (a *actor) mark(in chat.Inbound) {
	if a.endpoint.account().marker == nil {
		return
	}
	over := make(chan struct{})
	a.marked[in.ID] = over
	a.answers.Go(func() {
		if !a.callMark(in, true, over) {
			return
		}
		select {
		case <-over:
			a.callMark(in, false, nil)
		case <-a.g.deliveries.Done():
		}
	})
}

// unmark removes the signs of messages that wait no longer.
func (a *actor) unmark(messages ...chat.Inbound) {
	for _, in := range messages {
		over, marked := a.marked[in.ID]
		delete(a.marked, in.ID)
		switch {
		case over != nil:
			close(over)
		case marked:
			a.answers.Go(func() { a.callMark(in, false, nil) })
		}
	}
}

// inherit records that an earlier process may have left a sign on a message.
func (a *actor) inherit(in chat.Inbound) {
	if a.endpoint.account().marker != nil && in.Kind == chat.Text {
		a.marked[in.ID] = nil
	}
}

// callMark shows or removes the sign on a message with one call, once the budget allows it and unless over is
// closed before. It reports whether the sign may be visible now.
func (a *actor) callMark(in chat.Inbound, waits bool, over <-chan struct{}) (visible bool) {
	return a.aside(a.g.deliveries, in.To, chat.OpTyping, over, func(ctx context.Context) error {
		return a.endpoint.account().marker.Mark(ctx, chat.MessageRef{Target: in.To, ID: in.ID}, waits)
	}) && waits
}
