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
	// connectTime is how long it may take to connect to a server. A command such as npx first downloads the server.
	connectTime = 2 * time.Minute
	// slowConnect is the time after which the log reports that the server has not answered yet.
	slowConnect = 10 * time.Second
	// callWait is how long a call waits for a server that is not connected.
	callWait = 10 * time.Second
	// offeredWhileAway is how long the tools of a disconnected server are still offered.
	offeredWhileAway = time.Minute
	// listEvery is the minimum time between two requests for a server's tools.
	listEvery = time.Second

	shortestPause, longestPause = time.Second, time.Minute
	// stableAfter is how long a connection must last so that the pause after its failure is short again.
	stableAfter = time.Minute
)

// pause returns how long to wait before the next attempt to connect, after a number of failures in a row. The caller adds
// jitter to the pause.
func pause(failures int) time.Duration {
	return min(shortestPause<<min(max(0, failures-1), 6), longestPause)
}

// server manages one server over all its connections.
type server struct {
	Server
	version string
	log     *slog.Logger
	secrets secrets
	open    opener
	intake  *intake
	keeper  []string

	firstAttempt  chan struct{} // closed by markAttempted
	markAttempted func()        // called when the first attempt to connect has succeeded or failed

	mu    sync.Mutex
	live  *session      // the current session; nil: the server is not connected
	ready chan struct{} // closed when the server is connected
	defs  []agent.ToolDef
	since time.Time // time of the last change of live
	err   error     // why the server is not connected, without secrets
}

func newServer(s Server, o Options, open opener) *server {
	tried := make(chan struct{})
	return &server{
		Server: s, version: o.Version, keeper: o.Keeper, log: o.Log.With(slog.String("mcp_server", s.Name)), secrets: newSecrets(s),
		open: open, intake: newIntake(), ready: make(chan struct{}), firstAttempt: tried, markAttempted: sync.OnceFunc(func() { close(tried) }),
	}
}

// run keeps the server connected until ctx ends.
func (s *server) run(ctx context.Context) {
	failures, legacy, said := 0, false, ""
	for ctx.Err() == nil {
		begun := time.Now()
		connected, err := s.serve(ctx, legacy)
		if ctx.Err() != nil {
			return
		}
		if connected && time.Since(begun) > stableAfter {
			failures = 0
		}
		failures++
		if !connected {
			// The newer protocol begins with a request that old servers don't know, and some of them ignore unknown requests.
			// So the attempts to connect alternate between the two protocols.
			legacy = !legacy
		}
		err = s.redacted(err)
		s.lost(err)
		level := slog.LevelWarn
		if err.Error() == said { // the same error is logged again only at the level debug
			level = slog.LevelDebug
		}
		said = err.Error()
		wait := pause(failures)
		wait += rand.N(wait / 4)
		s.log.LogAttrs(ctx, level, "MCP server is not connected; connecting again", slog.Any("error", err), slog.Duration("wait", wait))
		if agent.Sleep(ctx, wait) != nil {
			return
		}
	}
}

func (s *server) redacted(err error) error {
	if err == nil {
		err = errors.New("the connection was closed")
	}
	// Redact a longer part of the text than is shown, because a secret at the cut could not be recognized.
	return errors.New(agent.Clip(s.secrets.redact(agent.OneLine(agent.Clip(plain(err).Error(), 8*maxLine))), 2*maxLine))
}

// plain removes those layers of an error that say only which operation failed, and not why.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return err
}

// serve makes one connection and uses it until it breaks or ctx ends. connected reports whether the connection was
// established.
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
	s.setConnected(ctx, c, defs)
	defer s.setDisconnected()
	if err := s.watchTools(ctx, c); ctx.Err() == nil {
		return true, c.because(err)
	}
	return true, nil
}

// watchTools lists the server's tools again whenever they may have changed, until the connection or ctx ends.
func (s *server) watchTools(ctx context.Context, c *session) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.ctx.Done():
			return c.cause()
		case <-c.toolsChanged:
			if agent.Sleep(ctx, listEvery) != nil {
				return nil
			}
			defs, err := c.list(ctx)
			if err != nil {
				return fmt.Errorf("list its tools: %w", err)
			}
			s.setConnected(ctx, c, defs)
		}
	}
}

// setConnected records that the server is connected, and which tools it has listed.
func (s *server) setConnected(ctx context.Context, c *session, defs []agent.ToolDef) {
	defer s.markAttempted()
	s.mu.Lock()
	before, had := s.live, s.defs
	s.defs, s.err = defs, nil
	if before != c {
		s.live, s.since = c, time.Now()
		close(s.ready)
	}
	s.mu.Unlock()
	s.log.LogAttrs(ctx, slog.LevelInfo, "MCP server listed its tools",
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

// errChanged is the error of a call if the tool has changed since it was offered to the model.
var errChanged = errors.New("the tool has changed since it was offered, so nothing was done. Call it again to use it as it is now")

// toolChanged reports whether a tool has changed since it was offered to the model. For example, a read-only tool may now
// change something. A missing tool counts as unchanged, because the server itself refuses the call.
func (s *server) toolChanged(offered agent.ToolDef) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, there := defined(s.defs, offered.Name)
	return there && len(changes(offered, now)) > 0
}

// setDisconnected records that the server is not connected any more.
func (s *server) setDisconnected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live != nil {
		close(s.live.ended)
	}
	s.live, s.since, s.ready = nil, time.Now(), make(chan struct{})
}

func (s *server) lost(err error) {
	defer s.markAttempted()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *server) tools() []agent.ToolDef {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil && time.Since(s.since) > offeredWhileAway {
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

// connection returns the current session. If there is no session, or if the current session is the one that the caller
// excludes, connection waits for a new session, at most for callWait.
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
			ready = live.ended // wait for the next connection
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

// call makes a call over the current connection. Even if the request is sent again, the tool call takes effect at most once.
func (s *server) call(ctx context.Context, tool string, offered agent.ToolDef, in agent.Input) (agent.Output, error) {
	var c *session
	var res *sdk.CallToolResult
	var err error
	for range 3 { // each session may have ended, or may be unknown to a restarted server
		if c, err = s.connection(ctx, c); err != nil {
			return agent.Output{}, err
		}
		if s.toolChanged(offered) {
			return agent.Output{}, errChanged
		}
		// A restarted server refuses the call with ErrSessionMissing, because it does not know the session. Only after this
		// error is it certain that the call had no effect.
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
	if !ok { // an error text of the server may quote the call, so it is not logged
		s.log.LogAttrs(ctx, slog.LevelInfo, "MCP server did not answer a call", slog.String("tool", agent.Clip(agent.OneLine(tool), agent.MaxToolName)), slog.Any("error", s.redacted(err)))
	}
	// List the tools again, because that shows whether the connection is broken.
	c.relist()
	unknown := ""
	if !offered.ReadOnly {
		unknown = "; whether the call took effect is not known"
	}
	return agent.Output{}, fmt.Errorf("the server %s did not answer: %w%s", s.Name, s.redacted(err), unknown)
}

// answered reports whether an error is the server's answer to the call, according to its code, and not a problem of the
// connection.
func answered(e *jsonrpc.Error) bool {
	switch e.Code {
	case jsonrpc.CodeInvalidParams, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInternalError, jsonrpc.CodeInvalidRequest:
		return true
	}
	return false
}
