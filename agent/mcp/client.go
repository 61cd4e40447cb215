package mcp

import (
	"context"
	"fmt"
	"sync"
	"time"

	"telex/agent"
)

// startGrace is how long turns wait for servers that have not listed their tools yet, counted from the start of Run.
const startGrace = time.Second

// Client manages the connections to all configured MCP servers. Client is safe for concurrent use.
type Client struct {
	servers []*server
	late    chan struct{} // closed startGrace after Run's start
}

// New returns a client. New starts no process and makes no request.
func New(o Options) (*Client, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	c := &Client{late: make(chan struct{})}
	large := o.Large
	if large == nil {
		large = make(chan struct{}, 1)
	}
	for _, config := range o.Servers {
		s := newServer(config, o, open(config, o.Transport))
		s.intake.large = large
		c.servers = append(c.servers, s)
	}
	return c, nil
}

// Run connects to all servers and keeps the connections open. Run blocks until ctx has ended, every connection is closed and
// every child process has exited. After ctx has ended, the child processes exit within some seconds. Run must be called only
// once. Run logs problems with servers, but never returns because of them.
func (c *Client) Run(ctx context.Context) {
	grace := time.AfterFunc(startGrace, func() { close(c.late) })
	defer grace.Stop()
	var all sync.WaitGroup
	for _, s := range c.servers {
		all.Go(func() { s.run(ctx) })
	}
	all.Wait()
}

// Tools returns the current tools, in the order of the configured servers. The tools of a server are sorted by name. Tools
// never blocks.
func (c *Client) Tools() []agent.ToolDef {
	var all []agent.ToolDef
	for _, s := range c.servers {
		all = append(all, s.tools()...)
	}
	return all
}

// Await returns when every server has listed its tools or failed to connect once, or when ctx ends. Await waits at most until
// startGrace after Run's start, so that a server that hangs delays no answer.
func (c *Client) Await(ctx context.Context) { c.await(ctx, c.late) }

// Settle returns when every server has listed its tools or failed to connect once, or when ctx ends.
func (c *Client) Settle(ctx context.Context) { c.await(ctx, nil) }

func (c *Client) await(ctx context.Context, late <-chan struct{}) {
	for _, s := range c.servers {
		select {
		case <-s.firstAttempt:
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Status is the state of an MCP server.
type Status struct {
	Name      string
	Connected bool
	Tools     []agent.ToolDef // the tools that the server listed last
	Since     time.Time       // time of the last change of the connection; zero: the server was never connected
	Err       string          // why the server is not connected; without secrets
}

// Status returns the state of all servers, in the order of the configuration.
func (c *Client) Status() []Status {
	var all []Status
	for _, s := range c.servers {
		all = append(all, s.status())
	}
	return all
}

var (
	_ agent.Toolbox = (*Client)(nil)
	_ agent.Awaiter = (*Client)(nil)
)
