package app

import (
	"context"
	"reflect"
	"sync"

	"telex/agent"
	"telex/agent/mcp"
	"telex/internal/config"
)

// brain is what answers: the models, their limits and their tools. A turn ends with the brain with which it began. A reload
// that changes any of this makes another one.
type brain struct {
	runner
	of      thoughts
	servers []*toolServer

	mu      sync.Mutex
	running int
	retired bool
	release func() // called once, when it is retired and its last turn has ended
}

// thoughts is all of the configuration that a brain depends on.
type thoughts struct {
	models []config.Model
	agent  config.Agent
	tools  config.Tools
	mcp    []config.MCPServer
	texts  map[string]string
	home   *config.HomeAssistant
}

func thoughtsOf(c *config.Config) thoughts {
	return thoughts{c.Models, c.Agent, c.Tools, c.MCPServers, c.Texts, c.Home()}
}

// Run implements runner.
func (b *brain) Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	b.count(1)
	defer b.count(-1)
	return b.runner.Run(ctx, t, emit)
}

func (b *brain) count(n int) {
	b.mu.Lock()
	b.running += n
	b.end()
}

// retire says that no turn will begin any more.
func (b *brain) retire() {
	b.mu.Lock()
	b.retired = true
	b.end()
}

// end unlocks mu, and releases what the brain holds if it is over.
func (b *brain) end() {
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

// toolServer is an MCP server that runs for as long as any brain has it.
type toolServer struct {
	config  config.MCPServer
	client  *mcp.Client
	holders int    // guarded by App.holding
	stop    func() // nil: it does not run yet
}

// newBrain returns the brain for a configuration: that of the parts before where nothing has changed, otherwise one that shares
// the tool servers that are still the same. before may be nil.
func (a *App) newBrain(c *config.Config, before *parts, o Options) (*brain, error) {
	of := thoughtsOf(c)
	if before != nil && reflect.DeepEqual(before.brain.of, of) {
		return before.brain, nil
	}
	b := &brain{of: of}
	for _, one := range c.MCPServers {
		s := &toolServer{config: one}
		if before != nil {
			for _, known := range before.brain.servers {
				if reflect.DeepEqual(known.config, one) {
					s = known
				}
			}
		}
		if s.client == nil {
			var err error
			if s.client, err = newMCP([]config.MCPServer{one}, a.large, o); err != nil {
				return nil, err
			}
		}
		b.servers = append(b.servers, s)
	}
	b.release = func() { a.hold(b.servers, -1) }
	tools, err := newTools(c, b.servers, o)
	if err != nil {
		return nil, err
	}
	b.runner, err = a.newAgent(c, texts(c), tools, o)
	return b, err
}

// hold counts the brains that have these servers. It starts the first one's servers and stops those of the last one.
func (a *App) hold(servers []*toolServer, n int) {
	a.holding.Lock()
	defer a.holding.Unlock()
	for _, s := range servers {
		switch s.holders += n; {
		case s.holders == 0:
			s.stop()
		case s.stop == nil:
			s.stop = a.start(context.WithoutCancel(a.running), "MCP server "+s.config.Name, s.client.Run)
		}
	}
}
