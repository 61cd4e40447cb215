package gateway

import (
	"context"
	"log/slog"
	"time"

	"telex/internal/chat"
)

// asideTimeout is the maximum duration of one call that aside makes. asideTimeout is short because no reply depends on
// the calls that aside makes.
const asideTimeout = 3 * time.Second

// aside makes a call that is not essential, such as naming a thread. A call that aside makes has the lowest priority in the
// budget. aside waits until the budget allows the call. If the channel over is closed or ctx ends before the budget allows
// the call, aside makes no call. If the call fails, aside only logs the error. aside reports whether the call may have
// taken effect.
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
			a.log.Debug("a call failed that is not retried", slog.Any("error", err))
		}
		ticket.Done()
	})
	if err != nil {
		a.log.Error("panic in an adapter", slog.Any("error", err))
	}
	return made
}
