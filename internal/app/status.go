package app

import (
	"context"
	"log/slog"
	"slices"

	"telex/gateway"
	"telex/internal/admin"
	"telex/internal/config"
	"telex/internal/metrics"
)

// adminServer is the server for the admin address, with the function that stops it.
type adminServer struct {
	*admin.Server
	stop func() // nil: the server does not run
}

// newAdmin returns the server for the admin address, or nil if no admin address is configured.
func (a *App) newAdmin(c *config.Config) (*adminServer, error) {
	if c.Admin.Listen == "" {
		return nil, nil //nolint:nilnil // no admin address is configured
	}
	s, err := admin.New(admin.Options{
		Listen: c.Admin.Listen, Token: c.Admin.Token.Reveal(), Metrics: a.metrics.Handler(), Alive: a.alive, Ready: a.readiness,
		Status: a.page.status, Log: a.log.With(slog.String("server", "admin")),
	})
	return &adminServer{Server: s}, err
}

// serveAdmin opens the admin address and starts its server. When the daemon stops, the admin server stops last, so that
// operators can watch the shutdown, which may take a while.
func (a *App) serveAdmin(ctx context.Context, p *parts) error {
	if p.admin == nil {
		return nil
	}
	err := a.openAdmin(ctx, p)
	if err == nil && p.admin != nil {
		p.admin.stop = a.start(context.WithoutCancel(a.running), "admin server", p.admin.Serve) //nolint:contextcheck // it ends with the daemon, not with ctx
	}
	return err
}

// openAdmin opens the admin address. If the default address can't be opened, the daemon runs without an admin server. If a
// configured address can't be opened, openAdmin fails.
func (a *App) openAdmin(ctx context.Context, p *parts) error {
	err := p.admin.Open(ctx)
	if err == nil || !slices.ContainsFunc(p.config.Listens(), func(l config.Listen) bool { return l.Optional }) {
		return err
	}
	a.log.Warn("no health checks, metrics and status page: set admin.listen to a free address, or to \"\"", slog.Any("error", err))
	p.admin = nil
	return nil
}

// readiness returns the response of /readyz. The endpoint for terminals does not influence this response.
func (a *App) readiness() admin.Readiness {
	r := admin.Readiness{Status: admin.Ready}
	o := a.gateway.Overview()
	for _, e := range o.Endpoints {
		if e.ID == a.cli {
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
	for _, s := range a.parts.Load().apis {
		r.Endpoints = append(r.Endpoints, admin.Endpoint{Name: string(s.Endpoint), State: string(gateway.Connected)})
	}
	if trouble := a.storeTrouble(o.Replica); trouble != "" {
		r.Status, r.Store = admin.Failing, trouble
	}
	if a.stopping.Load() {
		r.Status = "stopping"
	}
	return r
}

// now returns the current state of the daemon, from which the metrics are computed.
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
	n.Replica = a.replicaNow(o)
	for _, e := range o.Endpoints {
		if e.ID != a.cli {
			up := e.State == gateway.Connected || e.State == gateway.Standby && e.Err == nil && o.Replica.Holds
			n.Endpoints = append(n.Endpoints, metrics.EndpointNow{Name: string(e.ID), Up: up, Calls: e.Budget.Waiting})
		}
	}
	for _, s := range a.parts.Load().apis {
		n.Endpoints = append(n.Endpoints, metrics.EndpointNow{Name: string(s.Endpoint), Up: true})
	}
	return n
}
