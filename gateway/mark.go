package gateway

import (
	"context"

	"telex/internal/chat"
)

// Marker is an adapter that can show a sign on a person's message while the message waits for its turn.
type Marker interface {
	// Mark shows the sign on a message if the parameter waits is true, and removes the sign if the parameter is false. A
	// repeated call of Mark has no further effect. Mark returns its errors as a *chat.SendError.
	Mark(ctx context.Context, ref chat.MessageRef, waits bool) error
}

// mark shows on a queued message a sign that the message waits. The method unmark removes the sign of a message that
// no longer waits. The calls that show and remove signs have the lowest priority, and their errors are ignored. If
// the process dies, its signs stay until the next process removes them.
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

// unmark removes the signs of messages that no longer wait.
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

// callMark makes one call that shows or removes the sign on a message. callMark first waits until the budget allows the
// call. If the channel over is closed before the budget allows the call, callMark makes no call. callMark reports
// whether the sign may be visible now.
func (a *actor) callMark(in chat.Inbound, waits bool, over <-chan struct{}) (visible bool) {
	return a.aside(a.g.deliveries, in.To, chat.OpTyping, over, func(ctx context.Context) error {
		return a.endpoint.account().marker.Mark(ctx, chat.MessageRef{Target: in.To, ID: in.ID}, waits)
	}) && waits
}
