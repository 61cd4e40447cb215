package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"strings"

	"telex/gateway/attachment"
	"telex/internal/config"
	"telex/platforms/apiserver"
)

// parts contains everything that a reload replaces. A reload creates new parts, but takes over the elements of the old
// parts whose configuration is unchanged. Only the field admin may change after the parts have been created.
type parts struct {
	config      *config.Config
	adapters    map[string]configuredAccount // adapters of the platforms, by endpoint name
	answerer    *answerer
	transcriber attachment.Transcriber
	apis        []*api
	admin       *adminServer // nil: no admin address is configured
}

// newParts creates the parts for a configuration, but does not start them.
func (a *App) newParts(c *config.Config) (*parts, error) {
	before, o := a.parts.Load(), a.options
	p := &parts{config: c}
	var adapters map[string]configuredAccount
	var apis []*api
	if before != nil {
		adapters, apis = before.adapters, before.apis
	}
	p.adapters = newAdapters(c, adapters, o)
	var err error
	if p.answerer, err = a.newAnswerer(c, before, o); err != nil {
		return nil, err
	}
	if before != nil && reflect.DeepEqual(before.config.Transcription, c.Transcription) {
		p.transcriber = before.transcriber
	} else if p.transcriber, err = transcriber(c.Transcription, o); err != nil {
		return nil, err
	}
	options, err := a.apiOptions(c, p.answerer)
	if err != nil {
		return nil, err
	}
	for _, one := range options {
		i := slices.IndexFunc(apis, func(known *api) bool { return known.Endpoint == one.Endpoint && known.Listen == one.Listen })
		if i < 0 {
			p.apis = append(p.apis, &api{Server: apiserver.New(one), options: one})
		} else {
			p.apis = append(p.apis, &api{Server: apis[i].Server, options: one, stop: apis[i].stop})
		}
	}
	return p, nil
}

// close closes the connections of the adapters that the parts p contain and the parts others do not.
func (p *parts) close(others *parts) {
	for name, one := range p.adapters {
		if others == nil || others.adapters[name].account != one.account {
			one.Close()
		}
	}
}

// Reloaded is the result of a reload.
type Reloaded struct {
	Config   string   `json:"config"`   // path of the configuration file
	Changes  []string `json:"changes"`  // empty: nothing has changed
	Warnings []string `json:"warnings"` // possible mistakes in the configuration file
}

var (
	errStopping    = errors.New("the daemon is stopping")
	errNoReloads   = errors.New("this telex can't reload its configuration")
	errNotReloaded = errors.New("the configuration was not reloaded, and the old one stays in force")
)

// Reload applies the changes in the configuration. Reload reads the daemon's configuration file again. If the parameter
// passed is not nil, Reload uses this configuration instead of the file. Reload interrupts no turn and no request. If
// Reload fails, nothing has changed, and the error wraps errNotReloaded.
func (a *App) Reload(ctx context.Context, passed *config.Bundle) (done Reloaded, err error) {
	a.reloadMu.Lock()
	defer a.reloadMu.Unlock()
	if a.stopping.Load() {
		return done, errStopping
	}
	supervisor := newSupervisor(a.log)
	supervisor.reloading()
	switch done, err = a.reload(context.WithoutCancel(ctx), passed); {
	case err != nil:
		a.log.Error("configuration was not reloaded: the old one stays in force", slog.Any("error", err))
		supervisor.reloaded("Reload failed, the old configuration stays in force: " + err.Error())
		return done, fmt.Errorf("%w:\n%w", errNotReloaded, err)
	case len(done.Changes) == 0:
		a.log.Info("configuration was reloaded: nothing has changed", slog.String("config", done.Config))
	default:
		a.log.Info("configuration was reloaded", slog.String("config", done.Config), slog.Any("changes", done.Changes))
	}
	for _, w := range done.Warnings {
		a.log.Warn(w) //nolint:sloglint // the whole warning is the log message
	}
	supervisor.reloaded("")
	return done, nil
}

func (a *App) reload(ctx context.Context, passed *config.Bundle) (Reloaded, error) {
	before := a.parts.Load()
	c, own, err := a.load(passed)
	if err != nil {
		return Reloaded{}, err
	}
	done := Reloaded{Config: c.File(), Changes: []string{}, Warnings: append([]string{}, c.Warnings...)}
	if own && len(config.Changes(a.ownConfig, c)) == 0 {
		if c.IsCopy(a.options.Env) {
			done.Warnings = append(done.Warnings, c.File()+" is a copy that systemd made when it started the service: pass the new file with systemctl reload telex")
		}
		if before.config != a.ownConfig { // an operator has passed a newer configuration to an earlier reload
			return done, nil
		}
	}
	done.Changes = append(done.Changes, config.Changes(before.config, c)...)
	if doubt := c.NoAccessReason(); doubt != "" {
		done.Warnings = append(done.Warnings, c.File()+": "+doubt)
	}
	if err := errors.Join(c.CheckRun(), c.CheckReload(before.config)); err != nil {
		return done, err
	}
	next, err := a.newParts(c) //nolint:contextcheck // goroutines that newParts starts end with the daemon, not with ctx
	if err != nil {
		return done, err
	}
	undo, err := a.openNew(ctx, before, next)
	if err == nil {
		err = a.gateway.Reload(ctx, a.gatewayOptions(next))
	}
	if err != nil {
		undo()
		next.close(before)
		return done, err
	}
	a.replace(before, next) //nolint:contextcheck // goroutines that replace starts end with the daemon, not with ctx
	if own {
		a.ownConfig = c
	}
	return done, nil
}

// load parses the configuration in the parameter passed. If the parameter passed is nil, load instead reads the daemon's own
// file again, and the result own is true.
func (a *App) load(passed *config.Bundle) (c *config.Config, own bool, err error) {
	switch {
	case passed != nil:
		c, err = checked(passed.Parse(a.options.Env))
		return c, false, err
	case a.options.Load == nil:
		return nil, false, errNoReloads
	default:
		c, err = a.options.Load()
		return c, true, err
	}
}

// openNew opens the addresses of API servers and of the admin server that the parts next use and the parts before do not. The
// returned function undo closes these addresses again. openNew only tries the new addresses of adapters.
func (a *App) openNew(ctx context.Context, before, next *parts) (undo func(), err error) {
	var opened []interface{ Abandon() }
	undo = func() {
		for _, s := range opened {
			s.Abandon()
		}
	}
	for _, s := range next.apis {
		if s.stop != nil {
			continue
		}
		if err := s.Open(ctx); err != nil {
			return undo, err
		}
		opened = append(opened, s)
	}
	switch {
	case next.config.Admin.Listen == "":
	case before.admin != nil && before.admin.Listen == next.config.Admin.Listen:
		next.admin = before.admin
	default:
		if next.admin, err = a.newAdmin(next.config); err == nil {
			err = a.openAdmin(ctx, next)
		}
		if err != nil {
			return undo, err
		}
		if next.admin != nil {
			opened = append(opened, next.admin)
		}
	}
	return undo, tryAddresses(ctx, before.config, next.config)
}

// tryAddresses checks whether adapters will be able to listen on the addresses that the configuration next contains and
// the configuration before does not. An adapter opens its address only when it begins to receive messages; an error would
// then come after the reload.
func tryAddresses(ctx context.Context, before, next *config.Config) error {
	known := before.Listens()
	for _, l := range next.Listens() {
		e, _, _ := strings.Cut(strings.TrimPrefix(l.Key, "platforms."), ".")
		i := slices.IndexFunc(next.Endpoints, func(one config.Endpoint) bool { return one.Name == e && one.Kind != config.KindAPIServer })
		if i < 0 || slices.ContainsFunc(known, func(k config.Listen) bool { return k.Address == l.Address }) {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", l.Address)
		if err != nil {
			return fmt.Errorf("%s: %w", l.Key, err)
		}
		_ = listener.Close() // the listener was opened only to see whether the address is free
	}
	return nil
}

// replace makes next the current parts, and stops those elements of the parts before that next does not contain. When replace
// is called, the gateway must already use the options of next.
func (a *App) replace(before, next *parts) {
	if next.answerer != before.answerer {
		a.countHolders(next.answerer.servers, 1)
	}
	for _, s := range next.apis {
		if s.stop == nil {
			a.serveAPI(s)
		} else {
			s.Reload(s.options)
		}
	}
	c := next.config
	if next.admin != nil && next.admin != before.admin {
		next.admin.stop = a.start(context.WithoutCancel(a.running), "admin server", next.admin.Serve)
	}
	if next.admin != nil {
		next.admin.SetToken(c.Admin.Token.Reveal())
	}
	a.parts.Store(next)
	if a.options.Level != nil {
		a.options.Level.Set(c.Log)
	}
	if a.options.Terminal != nil {
		a.options.Terminal.Reload(hubOptions(c, a.log, a.lastLines))
	}
	for _, s := range before.apis {
		if !slices.ContainsFunc(next.apis, func(one *api) bool { return one.Server == s.Server }) {
			s.stop() // waits for the server's running requests
		}
	}
	if before.admin != nil && before.admin != next.admin {
		before.admin.stop()
	}
	if next.answerer != before.answerer {
		before.answerer.retire()
	}
	before.close(next)
}

// reloadOnSignal reloads the configuration each time that options.Reloads delivers a signal, until ctx ends.
func (a *App) reloadOnSignal(ctx context.Context) {
	for {
		select {
		case <-a.options.Reloads:
			_, _ = a.Reload(ctx, nil) // ignore the error, because Reload has logged it
		case <-ctx.Done():
			return
		}
	}
}
