package app

import (
	"context"
	"errors"
	"log/slog"

	"telex/gateway/history"
	"telex/internal/chat"
	"telex/internal/config"
	"telex/platforms/apiserver"
)

// apiServers builds the OpenAI-compatible servers.
func (a *App) apiServers(c *config.Config, asks runner, o Options) error {
	for _, e := range c.Endpoints {
		s, ok := e.Settings.(*config.APIServer)
		if !ok {
			continue
		}
		kept, ok := o.Store.(apiserver.Store)
		if !ok {
			return errors.New("the store can't keep what the API server needs")
		}
		var keys []apiserver.Key
		for _, k := range s.Keys {
			keys = append(keys, apiserver.Key{Name: k.Name, Secret: k.Reveal(), TurnsPerMinute: k.TurnsPerMinute, TokensPerDay: k.TokensPerDay})
		}
		a.servers = append(a.servers, apiserver.New(apiserver.Options{
			Endpoint: chat.EndpointID(e.Name), Listen: s.Listen, Keys: keys, Origins: s.CORSOrigins, MaxRequests: s.MaxRequests,
			SessionsByUser: s.SessionsByUser, ShowReasoning: c.Agent.ShowReasoning == config.ReasoningSummary,
			TokensPerDay: c.Access.Limits.TokensPerDayTotal, Grace: c.ShutdownGrace, Runner: asks, Store: kept, Documents: a.reader, Usage: history.Usage,
			Log: o.Log.With(slog.String("endpoint", e.Name)),
		}))
	}
	return nil
}

// serveAPIs opens the addresses of the API servers, and lets them answer until ctx ends and their requests have ended.
func (a *App) serveAPIs(ctx context.Context) error {
	for _, s := range a.servers {
		if err := s.Open(ctx); err != nil {
			return err
		}
	}
	for _, s := range a.servers {
		a.start(ctx, "API server "+string(s.Endpoint), s.Serve)
	}
	return nil
}
