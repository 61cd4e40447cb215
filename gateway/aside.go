package gateway

import (
	"context"
	"log/slog"
	"time"

	"telex/internal/chat"
)

// asideTimeout bounds a call that nobody misses. Nothing depends on its outcome.
const asideTimeout = 3 * time.Second

// aside makes a call that nobody misses: once the budget allows it, after all other calls, and unless over is closed
// before or ctx ends. A failure is only logged. It reports whether the call may have taken effect.
func (a *actor) aside(ctx context.Context, to chat.Target, op chat.Op, over <-chan struct{}, do func(context.Context) error) (made bool) {
	e, since := a.endpoint.account(), time.Now()
	err := caught(func() {
		call := chat.Call{To: to, Op: op, Class: chat.ClassTyping, Limits: e.out.Sender.Profile(to).Limits, Since: since}
		ticket := e.out.Budget.Request(call)
		defer ticket.Cancel() // does nothing once the call has ended
		select {
		case <-ticket.Ready():
		case <-over:
			return
		case <-ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(ctx, asideTimeout)
		defer cancel()
		if !a.g.mayCall() {
			return
		}
		began := time.Now()
		err := do(ctx)
		if e.Observer != nil {
			e.Observer.Called(op, time.Since(began), err)
		}
		if made = err == nil; err != nil {
			failure := chat.AsSendError(err)
			if made = failure.Kind == chat.Uncertain; failure.Kind == chat.RateLimited {
				e.out.Budget.Block(call, failure.Scope, failure.Ops, failure.RetryAfter)
			}
			if made {
				ticket.Lost()
			}
			a.log.Debug("a call that nobody misses failed", slog.Any("error", err))
		}
		ticket.Done()
	})
	if err != nil {
		a.log.Error("panic in an adapter", slog.Any("error", err))
	}
	return made
}
