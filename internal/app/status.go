package app

import (
	"context"
	"log/slog"
	"time"

	"telex/gateway"
	"telex/internal/admin"
	"telex/internal/config"
	"telex/internal/metrics"
	"telex/platforms/terminal"
)

// newStatus builds the server of the admin address, if the configuration has one. The gateway is already built.
func (a *App) newStatus(c *config.Config, o Options) (err error) {
	if a.metrics == nil {
		return nil
	}
	a.metrics.Watch(a.now)
	page := &statusPage{app: a, version: o.version(), showText: c.Admin.ShowText, started: time.Now()}
	if kept, ok := o.Store.(activity); ok {
		page.kept = kept
	}
	a.status, err = admin.New(admin.Options{
		Listen: c.Admin.Listen, Token: c.Admin.Token.Reveal(), Metrics: a.metrics.Handler(), Alive: a.alive, Ready: a.readiness,
		Status: page.status, Log: o.Log.With(slog.String("server", "admin")),
	})
	for _, l := range c.Listens() {
		a.statusOptional = a.statusOptional || l.Optional
	}
	return err
}

// serveStatus opens the admin address, and serves it until the teardown: an end that takes long can be watched.
func (a *App) serveStatus(ctx context.Context) error {
	if a.status == nil {
		return nil
	}
	switch err := a.status.Open(ctx); {
	case err == nil:
		a.start(context.WithoutCancel(ctx), "admin server", a.status.Serve)
		return nil
	case !a.statusOptional:
		return err
	default:
		a.log.Warn("no health checks, metrics and status page: set admin.listen to a free address, or to \"\"", slog.Any("error", err))
		return nil
	}
}

// readiness is what /readyz tells. The terminal is no endpoint of the configuration.
func (a *App) readiness() admin.Readiness {
	r := admin.Readiness{Status: admin.Ready}
	for _, e := range a.gateway.Overview().Endpoints {
		if e.ID == terminal.Endpoint {
			continue
		}
		one := admin.Endpoint{Name: string(e.ID), State: string(e.State)}
		if e.Err != nil && e.State != gateway.Connected {
			one.Error = e.Err.Error()
		}
		switch {
		case e.State == gateway.Stopped:
			r.Status = admin.Failing
		case e.State == gateway.Starting && r.Status == admin.Ready:
			r.Status = "starting"
		}
		r.Endpoints = append(r.Endpoints, one)
	}
	for _, s := range a.servers {
		r.Endpoints = append(r.Endpoints, admin.Endpoint{Name: string(s.Endpoint), State: string(gateway.Connected)})
	}
	if a.stopping.Load() {
		r.Status = "stopping"
	}
	return r
}

// now is what the metrics tell of the present.
func (a *App) now() metrics.Now {
	o := a.gateway.Overview()
	n := metrics.Now{Conversations: len(o.Conversations)}
	for _, c := range o.Conversations {
		n.Messages += c.Queued
		n.Running += c.Parked
		if c.Reply != nil {
			n.Running++
		}
	}
	for _, e := range o.Endpoints {
		if e.ID != terminal.Endpoint {
			n.Endpoints = append(n.Endpoints, metrics.EndpointNow{Name: string(e.ID), Up: e.State == gateway.Connected, Calls: e.Budget.Waiting})
		}
	}
	for _, s := range a.servers {
		n.Endpoints = append(n.Endpoints, metrics.EndpointNow{Name: string(s.Endpoint), Up: true})
	}
	return n
}
