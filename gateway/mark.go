package gateway

import (
	"context"
	"log/slog"
	"time"

	"telex/internal/chat"
)

// Marker is an adapter that can show on a message that it waits for its turn.
type Marker interface {
	// Mark shows the sign on a message, or removes it. Both can be repeated. Errors are a *chat.SendError.
	Mark(ctx context.Context, ref chat.MessageRef, waits bool) error
}

// markTimeout bounds one call. Nothing depends on its outcome.
const markTimeout = 3 * time.Second

// mark shows on a queued message that it waits, until unmark. It is a sign that nobody misses: its calls are the least urgent
// ones, and failures are ignored. When the process ends, signs stay.
func (a *actor) mark(in chat.Inbound) {
	if a.endpoint.marker == nil {
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
		if over := a.marked[in.ID]; over != nil {
			close(over)
			delete(a.marked, in.ID)
		}
	}
}

// callMark makes one call, once the budget allows it and unless over is closed before. It reports whether the sign may be
// visible now.
func (a *actor) callMark(in chat.Inbound, waits bool, over <-chan struct{}) (visible bool) {
	e, since := a.endpoint, time.Now()
	err := caught(func() {
		call := chat.Call{To: in.To, Op: chat.OpTyping, Class: chat.ClassTyping, Limits: e.out.Sender.Profile(in.To).Limits, Since: since}
		ticket := e.out.Budget.Request(call)
		defer ticket.Cancel() // does nothing once the call has ended
		select {
		case <-ticket.Ready():
		case <-over:
			return
		case <-a.g.deliveries.Done():
			return
		}
		ctx, cancel := context.WithTimeout(a.g.deliveries, markTimeout)
		defer cancel()
		err := e.marker.Mark(ctx, chat.MessageRef{Target: in.To, ID: in.ID}, waits)
		if err != nil {
			failure := chat.AsSendError(err)
			if visible = failure.Kind == chat.Uncertain; failure.Kind == chat.RateLimited {
				e.out.Budget.Block(call, failure.Scope, failure.Ops, failure.RetryAfter)
			}
			a.log.Debug("sign of a waiting message failed", slog.Bool("waits", waits), slog.Any("error", err))
		} else {
			visible = waits
		}
		ticket.Done()
	})
	if err != nil {
		a.log.Error("panic in an adapter", slog.Any("error", err))
	}
	return visible
}
