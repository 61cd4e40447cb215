package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"telex/agent"
	"telex/agent/chatcompletions"
	"telex/agent/provider"
	"telex/agent/responses"
	"telex/agent/tool"
	"telex/gateway"
	"telex/gateway/attachment"
	"telex/internal/admin"
	"telex/internal/chat"
	"telex/internal/config"
	"telex/internal/metrics"
	"telex/platforms/terminal"
)

// App is a daemon that is ready to run.
type App struct {
	options Options
	gateway *gateway.Gateway
	store   gateway.Store
	shared  gateway.Replicas // the store, if other processes may use it too, and nil otherwise
	cli     chat.EndpointID  // the endpoint to which conversations in terminals belong
	log     *slog.Logger
	sweep   func(context.Context) // deletes expired data; nil: the store is not persistent, so nothing expires
	control *control              // nil: no control socket
	socket  string                // path of the control socket
	down    teardown
	pings   []func(context.Context) error
	reader  *attachment.Reader // reads attachments; shared by all parts, because it limits the memory that attachments need
	running context.Context    //nolint:containedctx // the context of Run

	reloadMu     sync.Mutex            // locked while Reload runs, and when Run ends
	ownConfig    *config.Config        // configuration last read from the daemon's own file; guarded by reloadMu
	parts        atomic.Pointer[parts] // the parts that a reload replaces
	serving      sync.WaitGroup        // counts the running API servers
	serversMu    sync.Mutex            // guards which MCP servers are running
	largeMessage chan struct{}         // capacity 1: the clients of MCP servers read large messages only one at a time

	metrics  *metrics.Metrics // nil: no metrics
	page     *statusPage
	problems admin.Problems // warnings and errors of the log, for the status page
	stopping atomic.Bool
}

// Options contains everything that New needs to build an App, except the configuration.
type Options struct {
	Log       *slog.Logger
	Transport http.RoundTripper // used for every outgoing request; nil: default transports
	Env       config.Env        // environment variables, which determine the state directory
	Store     gateway.Store     // nil: New opens the configured store
	Replicas  gateway.Replicas  // the same store as Store, if other processes use it too
	Keeper    []string          // command line of a process that calls KeepServer; empty: MCP servers run without such a process
	Version   string            // version of the release; empty: the version in the build information
	Terminal  *terminal.Hub     // connects terminals; nil: a platform must be configured; New makes a hub if it opens the store
	Level     *LogLevel         // level of Log; nil: a reload does not change it
	// Load reads the configuration file again for a reload. If Load is nil, reloads are impossible.
	Load func() (*config.Config, error)
	// Reloads delivers a value each time somebody requests a reload by a signal. Reloads may be nil.
	Reloads <-chan os.Signal
}

func (o Options) version() string { return Version(o.Version) }

// New builds the daemon and opens the store. New makes no network calls, except to a database. Run starts the daemon.
func New(ctx context.Context, c *config.Config, o Options) (*App, error) {
	if o.Terminal == nil {
		if err := c.CheckRun(); err != nil {
			return nil, err
		}
	}
	a := &App{ownConfig: c, shared: o.Replicas, cli: terminal.Endpoint, reader: attachment.NewReader(), largeMessage: make(chan struct{}, 1)}
	if c.Admin.Listen != "" {
		a.metrics = metrics.New(o.version())
		o.Log = slog.New(a.problems.Handler(o.Log.Handler()))
	}
	a.log, a.down.log = o.Log, o.Log
	var kept keptStore
	if o.Store == nil {
		var err error
		if kept, err = a.openStore(ctx, c, o); err != nil {
			a.Close()
			return nil, err
		}
		o.Store = kept
		if o.Terminal == nil {
			o.Terminal = terminal.NewHub(hubOptions(c, o.Log, a.lastLines))
		}
	}
	a.store, a.options = o.Store, o
	if err := a.build(c); err != nil { //nolint:contextcheck // goroutines that build starts end with the daemon, not with ctx
		a.Close()
		return nil, err
	}
	if kept != nil {
		page := &statusPage{app: a, version: o.version(), started: time.Now()}
		a.control = &control{
			do:       &localAdmin{store: kept, policy: a.gateway.Policy(), forget: a.gateway.Forget, erase: a.gateway.Erase},
			status:   func(ctx context.Context) DaemonStatus { return a.daemonStatus(ctx, page, a.parts.Load().config) },
			replicas: a.replicas, reload: a.Reload, attach: o.Terminal.Serve, log: o.Log, ready: make(chan struct{}),
		}
	}
	return a, nil
}

// build creates the gateway and the first parts. The store must already be open.
func (a *App) build(c *config.Config) error {
	next, err := a.newParts(c)
	if err != nil {
		return err
	}
	a.down.add("endpoints", func() error { a.parts.Load().close(nil); return nil })
	a.parts.Store(next)
	if a.gateway, err = gateway.New(a.gatewayOptions(next)); err != nil || a.metrics == nil {
		return err
	}
	a.metrics.Watch(a.now)
	a.page = &statusPage{app: a, version: a.options.version(), started: time.Now()}
	if kept, ok := a.store.(activity); ok {
		a.page.activity = kept
	}
	next.admin, err = a.newAdmin(c)
	return err
}

// gatewayOptions returns the gateway's options for the given parts.
func (a *App) gatewayOptions(p *parts) gateway.Options {
	c, o := p.config, a.options
	busy := map[string]gateway.Busy{config.BusyInterrupt: gateway.Interrupt, config.BusyQueue: gateway.Queue, config.BusySteer: gateway.Steer}
	return gateway.Options{
		Endpoints: a.endpoints(p), Runner: p.answerer, Store: o.Store, Texts: texts(c), MaxAge: c.Conversations.MaxAge,
		Access: rules(c, a.operators()), Limits: limits(c.Access.Limits), Busy: busy[c.Conversations.Busy],
		MaxQueued: c.Conversations.MaxQueued, Models: models(c.Models), Hear: p.transcriber, Reader: a.reader,
		Overrides: overrides(c.Conversations.Overrides), Grace: c.ShutdownGrace, Log: o.Log,
		ApprovalTimeout: c.Tools.ApprovalTimeout, Remembers: slices.Contains(c.Tools.Enabled, tool.Memory),
		Context: c.Agent.Context, FollowThreads: c.Conversations.FollowThreads, OnEdit: onEdit(c.Conversations.OnEdit),
		ShowReasoning: c.Agent.ShowReasoning == config.ReasoningSummary, Replicas: a.shared, Self: a.self(),
	}
}

func texts(c *config.Config) gateway.Texts { return gateway.DefaultTexts().With(c.Texts) }

func onEdit(value string) gateway.OnEdit {
	if value == config.EditRestart {
		return gateway.Restart
	}
	return gateway.IgnoreEdit
}

// Run runs the daemon until ctx ends. When ctx has ended, Run stops the daemon in an orderly way, within the
// configured grace period. If the daemon can't start, Run stops it and returns the error.
func (a *App) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, a.end()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	supervisor := newSupervisor(a.log)
	started := make(chan struct{})
	a.running = ctx
	a.start(context.WithoutCancel(ctx), "watchdog", func(ctx context.Context) { supervisor.watch(ctx, started, a.alive) })
	// The notification, the sweep and the reloads end when ctx ends, or earlier if the gateway can't start.
	a.start(ctx, "service manager notification", func(ctx context.Context) { <-ctx.Done(); a.stopping.Store(true); supervisor.stopping() })
	a.start(ctx, "sweep of the store", a.sweepRegularly)
	if err := a.open(ctx); err != nil {
		return err
	}
	if a.control != nil {
		end := a.control.start(ctx, a.socket)
		a.down.add("control socket", func() error { end(); return nil })
	}
	joined := func() {}
	if a.shared != nil { // gateway.Run first waits until the database can be reached
		joined = supervisor.starting(ctx, "joining the other daemons")
	}
	err = a.gateway.Run(ctx, func() {
		joined()
		if a.control != nil {
			close(a.control.ready)
		}
		supervisor.ready()
		close(started)
		a.start(ctx, "reloads", a.reloadOnSignal)
		if err := releaseProgramPages(); err != nil {
			a.log.Debug("memory used at the start was not released", slog.Any("error", err))
		}
	})
	joined()
	return err
}

// open opens the addresses of the first parts and starts their servers.
func (a *App) open(ctx context.Context) error {
	p := a.parts.Load()
	if err := a.serveAdmin(ctx, p); err != nil {
		return err
	}
	for _, s := range p.apis {
		if err := s.Open(ctx); err != nil {
			return err
		}
	}
	a.countHolders(p.answerer.servers, 1) //nolint:contextcheck // goroutines of the MCP servers end with the daemon, not with ctx
	for _, s := range p.apis {
		a.serveAPI(s)
	}
	return nil
}

// end stops everything that the daemon runs. end stops the API servers first, because running requests may use all
// other parts.
func (a *App) end() error {
	a.reloadMu.Lock()      // wait until a running reload has ended
	a.stopping.Store(true) // prevent further reloads
	a.reloadMu.Unlock()
	for _, s := range a.parts.Load().apis {
		if s.stop != nil {
			s.stop()
		}
	}
	a.serving.Wait()
	return a.down.run()
}

// start calls a function in a goroutine. The function's context ends when ctx ends, when stop is called, or when the
// daemon stops. The function must then return, because a daemon that stops waits for it.
func (a *App) start(ctx context.Context, name string, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	remove := a.down.add(name, func() error {
		cancel()
		<-ended
		return nil
	})
	go func() {
		defer remove()
		defer close(ended)
		run(ctx)
	}()
	return cancel
}

// alive returns an error that names the parts of the daemon that hang, or nil.
func (a *App) alive(ctx context.Context) error {
	errs := []error{a.gateway.Alive()}
	for _, ping := range a.pings {
		errs = append(errs, ping(ctx))
	}
	return errors.Join(errs...)
}

// Close releases everything that New acquired. Run calls Close itself, so callers need Close only for an App whose method Run
// they never call.
func (a *App) Close() {
	if err := a.down.run(); err != nil {
		a.log.Error("some parts were not closed", slog.Any("error", err))
	}
}

// sweepEvery is the time between two sweeps, which delete expired data from the store.
const sweepEvery = 6 * time.Hour

// sweepRegularly sweeps the store every sweepEvery until ctx ends.
func (a *App) sweepRegularly(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for a.sweep != nil {
		a.sweep(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (a *App) newAgent(c *config.Config, texts gateway.Texts, tools agent.Toolbox, o Options) (runner, error) {
	var models []agent.ModelOptions
	for _, m := range c.Models {
		model, err := newModel(m, c.Agent.ShowReasoning == config.ReasoningSummary, o)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", m.Name, err)
		}
		models = append(models, agent.ModelOptions{Model: observed(model, a.metrics), Window: m.ContextWindow, MaxOutput: m.MaxOutputTokens})
	}
	l := c.Agent.Limits
	asks, err := agent.New(agent.Options{
		System: c.Agent.SystemPrompt, ThinkTags: c.Agent.ThinkTags, Models: models, Pipeline: pipeline(c.Agent.Pipeline), Log: o.Log,
		Tools: tools, MaxParallel: c.Tools.MaxParallel,
		Limits: agent.Limits{Turn: l.Turn, FirstToken: l.FirstToken, Silence: l.Silence, ModelCalls: l.ModelCalls, ToolCalls: l.ToolCalls},
		Lines:  lines(texts),
	})
	if err != nil || a.metrics == nil {
		return asks, err
	}
	return observedRunner{asks, a.metrics}, nil
}

// newModel returns a model that is called through the API of its provider. If summaries is true, requests ask the
// model for summaries of its reasoning.
func newModel(m config.Model, summaries bool, o Options) (agent.Model, error) {
	headers := make(map[string]string, len(m.Headers))
	for name, value := range m.Headers {
		headers[name] = value.Reveal()
	}
	po := provider.Options{
		Name: m.Name, BaseURL: m.BaseURL, APIKey: m.APIKey.Reveal(), Model: m.Model,
		MaxOutputTokens: m.MaxOutputTokens, Temperature: float32Of(m.Temperature),
		Stream: m.Stream, Summaries: summaries, Headers: headers, Transport: o.Transport, Log: o.Log,
	}
	switch m.API {
	case "chat_completions":
		return chatcompletions.New(po)
	case "responses":
		return responses.New(po)
	default:
		return nil, fmt.Errorf("unknown API %q", m.API)
	}
}

// pipeline returns the nodes of the configured pipeline. If no pipeline is configured, the model answers alone, and
// pipeline returns nil.
func pipeline(nodes []config.PipelineNode) []agent.Node {
	var out []agent.Node
	for _, n := range nodes {
		out = append(out, agent.Node{Name: n.Name, Model: n.Model, System: n.SystemPrompt})
	}
	return out
}

// lines returns the fixed texts that the agent may use as lines of a reply.
func lines(t gateway.Texts) agent.Lines {
	return agent.Lines{
		agent.StopThinking: t[gateway.TextThinking], agent.StopRefused: t[gateway.TextRefused], agent.StopFiltered: t[gateway.TextFiltered],
		agent.StopLength: t[gateway.TextLength], agent.StopEmpty: t[gateway.TextEmpty], agent.StopNoTool: t[gateway.TextNoTool],
		agent.StopTooLong: t[gateway.TextTooLong], agent.StopNoRoom: t[gateway.TextNoRoom], agent.StopToolCalls: t[gateway.TextToolLimit], agent.StopCalls: t[gateway.TextStepLimit],
	}
}

func float32Of(f *float64) *float32 {
	if f == nil {
		return nil
	}
	g := float32(*f)
	return &g
}
