package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"telex/agent"
)

const (
	// connectTime is how long connecting may take. A command such as npx downloads the server first.
	connectTime = 2 * time.Minute
	// slowConnect is the time without an answer after which the log says so.
	slowConnect = 10 * time.Second
	// callWait is how long a call waits for a server that is away.
	callWait = 10 * time.Second
	// away is how long the tools of a server that is away are still offered.
	away = time.Minute
	// listEvery is the least time between two looks at a server's tools.
	listEvery = time.Second

	shortestPause, longestPause = time.Second, time.Minute
	// settled is how long a connection has to last for the next pause to be short again.
	settled = time.Minute
)

// pause returns how long to wait after that many failures in a row, without jitter.
func pause(failures int) time.Duration {
	return min(shortestPause<<min(max(0, failures-1), 6), longestPause)
}

// server is one server through all its connections.
type server struct {
	Server
	version string
	log     *slog.Logger
	secrets secrets
	open    opener
	intake  *intake
	keeper  []string

	tried chan struct{} // closed by try
	try   func()        // the first attempt to connect has succeeded or failed

	mu    sync.Mutex
	live  *session      // nil: not connected
	ready chan struct{} // closed when it is connected
	defs  []agent.ToolDef
	since time.Time // when live became what it is
	err   error     // why it is not connected; redacted
}

func newServer(s Server, o Options, open opener) *server {
	tried := make(chan struct{})
	return &server{
		Server: s, version: o.Version, keeper: o.Keeper, log: o.Log.With(slog.String("mcp_server", s.Name)), secrets: newSecrets(s),
		open: open, intake: newIntake(), ready: make(chan struct{}), tried: tried, try: sync.OnceFunc(func() { close(tried) }),
	}
}

// run keeps connected until ctx ends.
func (s *server) run(ctx context.Context) {
	failures, legacy, said := 0, false, ""
	for ctx.Err() == nil {
		begun := time.Now()
		connected, err := s.serve(ctx, legacy)
		if ctx.Err() != nil {
			return
		}
		if connected && time.Since(begun) > settled {
			failures = 0
		}
		failures++
		if !connected {
			// Some servers answer nothing that they do not know, and the newer protocol begins with such a question.
			legacy = !legacy
		}
		err = s.redacted(err)
		s.lost(err)
		level := slog.LevelWarn
		if err.Error() == said { // nobody needs to read it again and again
			level = slog.LevelDebug
		}
		said = err.Error()
		wait := pause(failures)
		wait += rand.N(wait / 4)
		s.log.LogAttrs(ctx, level, "MCP server is away, connecting again", slog.Any("error", err), slog.Duration("wait", wait))
		if agent.Sleep(ctx, wait) != nil {
			return
		}
	}
}

func (s *server) redacted(err error) error {
	if err == nil {
		err = errors.New("the connection was closed")
	}
	// Some more than is shown, so that a secret at the cut is recognized.
	return errors.New(agent.Clip(s.secrets.redact(agent.OneLine(agent.Clip(plain(err).Error(), 8*maxLine))), 2*maxLine))
}

// plain takes off an error what says only where it came through.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return err
}

// serve makes one connection and keeps it. Connected says whether it came to that.
func (s *server) serve(ctx context.Context, legacy bool) (connected bool, err error) {
	c := newSession(s)
	if c.link, err = s.open(s, c.end); err != nil {
		c.end(err)
		return false, err
	}
	defer c.link.end()
	defer c.close()
	slow := time.AfterFunc(slowConnect, func() {
		s.log.LogAttrs(ctx, slog.LevelWarn, "MCP server has not answered yet: its tools are missing until it does", slog.Duration("after", slowConnect))
	})
	err = c.connect(ctx, legacy)
	slow.Stop()
	if ctx.Err() != nil {
		return false, nil
	} else if err != nil {
		return false, c.because(err)
	}
	defs, err := c.list(ctx)
	if err != nil {
		return false, c.because(fmt.Errorf("list its tools: %w", err))
	}
	s.found(ctx, c, defs)
	defer s.leave()
	if err := s.keep(ctx, c); ctx.Err() == nil {
		return true, c.because(err)
	}
	return true, nil
}

// keep looks at the tools again whenever there may be others, until the connection or ctx ends.
func (s *server) keep(ctx context.Context, c *session) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.ctx.Done():
			return c.over()
		case <-c.look:
			if agent.Sleep(ctx, listEvery) != nil {
				return nil
			}
			defs, err := c.list(ctx)
			if err != nil {
				return fmt.Errorf("list its tools: %w", err)
			}
			s.found(ctx, c, defs)
		}
	}
}

// found records that the server is connected, and its tools.
func (s *server) found(ctx context.Context, c *session, defs []agent.ToolDef) {
	defer s.try()
	s.mu.Lock()
	before, had := s.live, s.defs
	s.defs, s.err = defs, nil
	if before != c {
		s.live, s.since = c, time.Now()
		close(s.ready)
	}
	s.mu.Unlock()
	s.log.LogAttrs(ctx, slog.LevelInfo, "MCP server tells its tools",
		append(c.about(), slog.Bool("connected_anew", before != c), slog.Int("tools", len(defs)))...)
	for _, was := range had {
		now, there := defined(defs, was.Name)
		if parts := changes(was, now); there && len(parts) > 0 {
			s.log.LogAttrs(ctx, slog.LevelWarn, "a tool of an MCP server has changed: no approval of it holds any more",
				slog.String("tool", was.Name), slog.Any("changed", parts))
		}
	}
}

func defined(defs []agent.ToolDef, name string) (agent.ToolDef, bool) {
	for _, d := range defs {
		if d.Name == name {
			return d, true
		}
	}
	return agent.ToolDef{}, false
}

// errChanged is a call's error that was made for a tool as it was before.
var errChanged = errors.New("the tool has changed since it was offered, so nothing was done. Call it again to use it as it is now")

// changed reports whether a tool is not what it was when it was offered: read-only may not be read-only any more. One that is
// gone is the server's to refuse.
func (s *server) changed(offered agent.ToolDef) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, there := defined(s.defs, offered.Name)
	return there && len(changes(offered, now)) > 0
}

// leave records that the server is not connected any more.
func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live != nil {
		close(s.live.left)
	}
	s.live, s.since, s.ready = nil, time.Now(), make(chan struct{})
}

func (s *server) lost(err error) {
	defer s.try()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *server) tools() []agent.ToolDef {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil && time.Since(s.since) > away {
		return nil
	}
	return slices.Clone(s.defs)
}

func (s *server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Name: s.Name, Connected: s.live != nil, Tools: slices.Clone(s.defs), Since: s.since}
	if s.live == nil && s.err != nil {
		st.Err = s.err.Error()
	}
	return st
}

// connection waits for a connection for a while; for another one than that.
func (s *server) connection(ctx context.Context, but *session) (*session, error) {
	timer := time.NewTimer(callWait)
	defer timer.Stop()
	for {
		s.mu.Lock()
		live, ready := s.live, (<-chan struct{})(s.ready)
		s.mu.Unlock()
		if live != nil && live != but && live.ctx.Err() == nil {
			return live, nil
		}
		if live != nil {
			ready = live.left // another one follows
		}
		select {
		case <-ready:
			but = nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer.C:
			if st := s.status(); st.Err != "" {
				return nil, fmt.Errorf("the server %s is away: %s", s.Name, st.Err)
			}
			return nil, fmt.Errorf("the server %s is away", s.Name)
		}
	}
}

// call makes a call over the connection there is. It takes effect once at most.
func (s *server) call(ctx context.Context, tool string, offered agent.ToolDef, in agent.Input) (agent.Output, error) {
	var c *session
	var res *sdk.CallToolResult
	var err error
	for range 3 { // a session that has ended, and one that the restarted server does not know
		if c, err = s.connection(ctx, c); err != nil {
			return agent.Output{}, err
		}
		if s.changed(offered) {
			return agent.Output{}, errChanged
		}
		// A server that was restarted refuses the call because it does not know the session. This is the one error after which
		// nothing can have happened.
		if res, err = c.call(ctx, tool, in); !errors.Is(err, sdk.ErrSessionMissing) {
			break
		}
	}
	if err == nil {
		out, err := output(res)
		if err != nil {
			return agent.Output{}, errors.New(s.secrets.redact(err.Error()))
		}
		return out, nil
	}
	if ctx.Err() != nil {
		return agent.Output{}, context.Cause(ctx)
	}
	answer, ok := errors.AsType[*jsonrpc.Error](err)
	if ok && answered(answer) {
		return agent.Output{}, errors.New(agent.Clip(s.secrets.redact(agent.Clip(answer.Message, 2*maxError)), maxError))
	}
	if !ok { // else it is in the server's words, which may quote the call
		s.log.LogAttrs(ctx, slog.LevelInfo, "MCP server did not answer a call", slog.String("tool", agent.Clip(agent.OneLine(tool), agent.MaxToolName)), slog.Any("error", s.redacted(err)))
	}
	// Whatever it is: the connection may be of no use any more, which looking at the tools will show.
	c.relist()
	unknown := ""
	if !offered.ReadOnly {
		unknown = "; whether the call took effect is not known"
	}
	return agent.Output{}, fmt.Errorf("the server %s did not answer: %w%s", s.Name, s.redacted(err), unknown)
}

// answered reports whether an error is an answer to the call, by its code, and not trouble on the way.
func answered(e *jsonrpc.Error) bool {
	switch e.Code {
	case jsonrpc.CodeInvalidParams, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInternalError, jsonrpc.CodeInvalidRequest:
		return true
	}
	return false
}
