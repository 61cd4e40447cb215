package gateway

import (
	"context"
	"log/slog"

	"telex/internal/chat"
)

// offer sets the platform's command menu once the endpoint is connected, and again after each reload. The endpoint
// receives messages before the menu is set, because commands work without the menu.
func (g *Gateway) offer(ctx context.Context, e *endpoint) {
	select {
	case <-e.account().works.yes:
	case <-ctx.Done():
		return
	}
	for {
		select {
		case <-e.menuNews:
			g.setMenu(ctx, e)
		case <-ctx.Done():
			return
		}
	}
}

// offerMenu makes the method offer set the command menu again. offerMenu never blocks.
func (e *endpoint) offerMenu() {
	select {
	case e.menuNews <- struct{}{}:
	default:
	}
}

// setMenu sets the platform's command menu. If the platform can't be reached, setMenu tries to set the menu again.
func (g *Gateway) setMenu(ctx context.Context, e *endpoint) {
	log := g.Log.With(slog.String("endpoint", string(e.ID)))
	delay := firstRetry
	for said := false; ctx.Err() == nil; {
		var err error
		if panicked := caught(func() {
			err = e.account().menu.SetCommands(ctx, g.menu(), g.current().Access.AdminsOf(e.ID))
		}); panicked != nil {
			log.Error("menu of commands was not set", slog.Any("error", panicked))
			return
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		se := chat.AsSendError(err)
		if se.Kind == chat.Auth { // the method supervise logs refused credentials
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
		delay = min(maxRetry, 2*delay)
	}
}
