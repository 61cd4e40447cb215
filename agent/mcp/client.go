package mcp

import (
	"context"
	"fmt"
	"sync"
	"time"

	"telex/agent"
)

// startGrace is how long the first turns after Run began wait for servers that have not told their tools yet.
const startGrace = time.Second

// Client is all configured servers. It is safe for concurrent use.
type Client struct {
	servers []*server
	late    chan struct{} // closed startGrace after Run began
}

// New returns a client. It starts nothing and calls nobody.
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

// Run connects to all servers and keeps connected to them. It blocks until ctx has ended and every connection is closed and every
// child process gone, for which it takes some seconds at most. It is called once. Trouble with servers goes to
// the log; it never ends Run.
func (c *Client) Run(ctx context.Context) {
	grace := time.AfterFunc(startGrace, func() { close(c.late) })
	defer grace.Stop()
	var all sync.WaitGroup
	for _, s := range c.servers {
		all.Go(func() { s.run(ctx) })
	}
	all.Wait()
}

// Tools returns the tools there are now, in the order of the config, those of one server by their names. It never blocks.
func (c *Client) Tools() []agent.ToolDef {
	var all []agent.ToolDef
	for _, s := range c.servers {
		all = append(all, s.tools()...)
	}
	return all
}

// Await returns once every server has told its tools, or could not be reached the first time; at the latest a moment after
// Run began, so that a server that hangs delays no answer; or when ctx ends.
func (c *Client) Await(ctx context.Context) { c.await(ctx, c.late) }

// Settle returns once every server has told its tools, or could not be reached the first time; or when ctx ends.
func (c *Client) Settle(ctx context.Context) { c.await(ctx, nil) }

func (c *Client) await(ctx context.Context, late <-chan struct{}) {
	for _, s := range c.servers {
		select {
		case <-s.tried:
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Status is how a server is.
type Status struct {
	Name      string
	Connected bool
	Tools     []agent.ToolDef // those that it told last
	Since     time.Time       // when it became so; zero: it has never been connected
	Err       string          // why it is not connected; without secrets
}

// Status tells of all servers, in the order of the config.
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
