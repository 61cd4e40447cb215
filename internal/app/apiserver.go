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

// apiOptions returns the options of all configured API servers, in the order of the configuration file.
func (a *App) apiOptions(c *config.Config, asks runner) ([]apiserver.Options, error) {
	o := a.options
	var all []apiserver.Options
	for _, e := range c.Endpoints {
		s, ok := e.Settings.(*config.APIServer)
		if !ok {
			continue
		}
		kept, ok := o.Store.(apiserver.Store)
		if !ok {
			return nil, errors.New("the store can't keep the responses of the API server")
		}
		var keys []apiserver.Key
		for _, k := range s.Keys {
			keys = append(keys, apiserver.Key{Name: k.Name, Secret: k.Reveal(), TurnsPerMinute: k.TurnsPerMinute, TokensPerDay: k.TokensPerDay})
		}
		all = append(all, apiserver.Options{
			Endpoint: chat.EndpointID(e.Name), Listen: s.Listen, Keys: keys, Origins: s.CORSOrigins, MaxRequests: s.MaxRequests,
			SessionsByUser: s.SessionsByUser, ShowReasoning: c.Agent.ShowReasoning == config.ReasoningSummary,
			TokensPerDay: c.Access.Limits.TokensPerDayTotal, Grace: c.ShutdownGrace, Runner: asks, Store: kept, Documents: a.reader, Usage: history.Usage,
			Log: o.Log.With(slog.String("endpoint", e.Name)),
		})
	}
	return all, nil
}

// api is an API server, with its newest options and the function that stops it.
type api struct {
	*apiserver.Server
	options apiserver.Options
	stop    func() // nil: the server does not serve yet
}

// serveAPI starts an API server whose address is already open. The server stops when the context of Run ends or when
// s.stop is called. Before the API server stops, it waits for its running requests.
func (a *App) serveAPI(s *api) {
	a.serving.Add(1)
	s.stop = a.start(a.running, "API server "+string(s.Endpoint), func(ctx context.Context) {
		defer a.serving.Done()
		s.Serve(ctx)
	})
}
