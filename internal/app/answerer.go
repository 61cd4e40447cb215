package app

import (
	"context"
	"reflect"
	"sync"

	"telex/agent"
	"telex/agent/mcp"
	"telex/internal/config"
)

// answerer holds everything that answers turns: the models, their limits and their tools. A turn uses the same answerer, and so
// the same models, limits and tools, from its beginning to its end. A reload creates a new answerer if it changes the models,
// limits or tools.
type answerer struct {
	runner
	config  answererConfig
	servers []*toolServer

	mu      sync.Mutex
	running int
	retired bool
	release func() // called once, after the method retire, when the last turn has ended
}

// answererConfig contains the parts of the configuration from which an answerer is built.
type answererConfig struct {
	models []config.Model
	agent  config.Agent
	tools  config.Tools
	mcp    []config.MCPServer
	texts  map[string]string
	home   *config.HomeAssistant
}

func answererConfigOf(c *config.Config) answererConfig {
	return answererConfig{c.Models, c.Agent, c.Tools, c.MCPServers, c.Texts, c.Home()}
}

// Run implements runner.
func (b *answerer) Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	b.count(1)
	defer b.count(-1)
	return b.runner.Run(ctx, t, emit)
}

func (b *answerer) count(n int) {
	b.mu.Lock()
	b.running += n
	b.end()
}

// retire marks the answerer as retired, which means that no more turns begin with it.
func (b *answerer) retire() {
	b.mu.Lock()
	b.retired = true
	b.end()
}

// end unlocks the mutex mu, which the caller has locked. If the answerer is retired and no turn uses it any more, end calls the
// function in the field release.
func (b *answerer) end() {
	release := b.release
	over := b.retired && b.running == 0
	if over {
		b.release = nil
	}
	b.mu.Unlock()
	if over && release != nil {
		release()
	}
}

// toolServer is an MCP server, which runs as long as at least one answerer uses it.
type toolServer struct {
	config  config.MCPServer
	client  *mcp.Client
	holders int    // number of answerers that use the server; guarded by App.serversMu
	stop    func() // nil: the server is not running yet
}

// newAnswerer returns an answerer for a configuration. If the answerer in the parameter before has the same configuration,
// newAnswerer returns that answerer. Otherwise the new answerer shares with the old one the MCP servers whose configuration is
// unchanged. The parameter before may be nil.
func (a *App) newAnswerer(c *config.Config, before *parts, o Options) (*answerer, error) {
	of := answererConfigOf(c)
	if before != nil && reflect.DeepEqual(before.answerer.config, of) {
		return before.answerer, nil
	}
	b := &answerer{config: of}
	for _, one := range c.MCPServers {
		s := &toolServer{config: one}
		if before != nil {
			for _, known := range before.answerer.servers {
				if reflect.DeepEqual(known.config, one) {
					s = known
				}
			}
		}
		if s.client == nil {
			var err error
			if s.client, err = newMCP([]config.MCPServer{one}, a.largeMessage, o); err != nil {
				return nil, err
			}
		}
		b.servers = append(b.servers, s)
	}
	b.release = func() { a.countHolders(b.servers, -1) }
	tools, err := a.newTools(c, b.servers, o)
	if err != nil {
		return nil, err
	}
	b.runner, err = a.newAgent(c, texts(c), tools, o)
	return b, err
}

// countHolders adds n to the number of answerers that use each of the given MCP servers. n may be negative. countHolders starts
// a server for the first answerer that uses it, and stops the server after the last one.
func (a *App) countHolders(servers []*toolServer, n int) {
	a.serversMu.Lock()
	defer a.serversMu.Unlock()
	for _, s := range servers {
		switch s.holders += n; {
		case s.holders == 0:
			s.stop()
		case s.stop == nil:
			s.stop = a.start(context.WithoutCancel(a.running), "MCP server "+s.config.Name, s.client.Run)
		}
	}
}
