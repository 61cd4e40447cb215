package gateway

import (
	"context"
	"log/slog"

	"telex/internal/chat"
)

// offer sets the platform's command menu once the endpoint works, with retries. Nothing waits for it: the
// commands work without the menu.
func (g *Gateway) offer(ctx context.Context, e *endpoint) {
	select {
	case <-e.works:
	case <-ctx.Done():
		return
	}
	log := g.Log.With(slog.String("endpoint", string(e.ID)))
	delay := firstRetry
	for said := false; ctx.Err() == nil; {
		var err error
		if panicked := caught(func() {
			err = e.menu.SetCommands(ctx, g.menu(), g.Access.AdminsOf(e.ID))
		}); panicked != nil {
			log.Error("menu of commands was not set", slog.Any("error", panicked))
			return
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		se := chat.AsSendError(err)
		if se.Kind == chat.Auth { // supervise reports this
			return
		}
		if !said {
			log.Warn("menu of commands was not set", slog.Any("error", err))
			said = true
		}
		if se.Kind == chat.Rejected || se.Kind == chat.Forbidden {
			return
		}
		pause(ctx, max(se.RetryAfter, jitter(delay)))
		delay = min(mostRetry, 2*delay)
	}
}
