package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"telex/agent"
)

const (
	listTime   = 30 * time.Second
	lastAnswer = 100 * time.Millisecond // how long to wait for an answer after a session has ended
	oldestNew  = "2025-11-25"           // the newest version of the older protocol, which begins with the request initialize
)

// link is the transport to a server: a process, or HTTP.
type link struct {
	transport sdk.Transport
	end       func()       // ends the link and returns when all its resources are released
	why       func() error // returns why the link broke; nil: unknown
}

// opener opens a link to a server. If the server exceeds a limit, the link calls the function fail, which ends the session.
type opener func(s *server, fail func(error)) (link, error)

// open returns the opener for the configured kind of link.
func open(config Server, base http.RoundTripper) opener {
	if config.Command != "" {
		return func(s *server, fail func(error)) (link, error) {
			child, err := start(s, newLines(s.log, s.secrets), fail)
			if err != nil {
				return link{}, err
			}
			return link{transport: child.transport(), end: child.end, why: child.exitError}, nil
		}
	}
	return func(s *server, fail func(error)) (link, error) {
		base := base
		if base == nil {
			if t, ok := http.DefaultTransport.(*http.Transport); ok {
				t = t.Clone() // the session has its own transport, whose connections end with the session
				t.MaxResponseHeaderBytes = maxHeaders
				base = t
			}
		}
		w := newWeb(s, base, fail)
		return link{
			transport: &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: w.client(), MaxEventSize: maxMessage + 1},
			end:       w.CloseIdleConnections, why: func() error { return nil },
		}, nil
	}
}

// session is one connection to a server.
type session struct {
	server       *server
	link         link
	client       *sdk.Client
	ctx          context.Context         //nolint:containedctx // ends with the session; all calls depend on it
	end          context.CancelCauseFunc // ends the session; only the first reason counts
	ended        chan struct{}           // closed when the server's goroutine has noticed the end of the session
	toolsChanged chan struct{}           // signals that the tools must be listed again
	legal        *sdk.ClientSession

	waiter sync.WaitGroup // for goroutines started by spawn

	mu       sync.Mutex
	conn     sdk.Connection // nil: the SDK did not connect
	last     int64          // last used progress token
	progress map[string]func(string)
}

func newSession(s *server) *session {
	c := &session{server: s, toolsChanged: make(chan struct{}, 1), ended: make(chan struct{}), progress: map[string]func(string){}}
	c.ctx, c.end = context.WithCancelCause(context.Background())
	c.client = sdk.NewClient(&sdk.Implementation{Name: "telex", Version: s.version}, &sdk.ClientOptions{
		Logger:       slog.New(slog.DiscardHandler), // the SDK's logs could contain secrets
		Capabilities: &sdk.ClientCapabilities{},     // the client offers neither roots nor sampling nor elicitation
		// Without this option, the SDK would repeat calls by itself.
		MultiRoundTrip:              &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { c.relist() },
		ProgressNotificationHandler: c.handleProgress,
	})
	return c
}

// relist makes watchTools soon request the list of tools again.
func (c *session) relist() {
	select {
	case c.toolsChanged <- struct{}{}:
	default: // another listing is already requested
	}
}

// errSessionEnded says that the session has ended.
var errSessionEnded = errors.New("the connection was closed")

// Connect is called by the SDK's client. Connect remembers the connection, so that it can be closed even while the client is
// blocked.
func (c *session) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := c.link.transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, errors.Join(errSessionEnded, conn.Close())
	}
	c.conn = conn
	return conn, nil
}

// spawn runs f in a goroutine for which close waits. If the session has already ended, spawn does nothing and returns false.
func (c *session) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.waiter.Go(f)
	return true
}

// connect connects to the server and starts the session.
func (c *session) connect(ctx context.Context, legacy bool) error {
	late := time.AfterFunc(connectTime, func() { c.end(fmt.Errorf("it did not answer within %s", connectTime)) })
	defer late.Stop()
	options := &sdk.ClientSessionOptions{}
	if legacy {
		options.ProtocolVersion = oldestNew
	}
	made := make(chan error, 1)
	c.spawn(func() {
		var err error
		c.legal, err = c.client.Connect(c.ctx, c, options)
		made <- err
	})
	select {
	case err := <-made:
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
	case <-c.ctx.Done():
		return c.cause()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c.spawn(func() { c.end(cmp.Or(c.legal.Wait(), errSessionEnded)) })
	return nil
}

// cause returns why the session has ended.
func (c *session) cause() error { return context.Cause(c.ctx) }

// close ends the session. close returns when all goroutines of the session have ended. An HTTP server can delay the end of
// these goroutines by 5 seconds.
func (c *session) close() {
	c.end(errSessionEnded)
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn != nil {
		_ = conn.Close() // the SDK's Close would wait for running calls
	}
	c.waiter.Wait()
	if c.legal != nil {
		_ = c.legal.Close()
	}
}

// because returns the best known reason for a broken connection: the one that the link reports, or else err.
func (c *session) because(err error) error {
	if why := c.link.why(); why != nil {
		return why
	}
	return err
}

// about returns the server's name and version for the log.
func (c *session) about() []slog.Attr {
	attrs := []slog.Attr{}
	res := c.legal.InitializeResult()
	if res == nil {
		return attrs
	}
	if info := res.ServerInfo; info != nil {
		attrs = append(attrs, slog.String("program", agent.Clip(agent.OneLine(info.Name+" "+info.Version), 100)))
	}
	return append(attrs, slog.String("protocol", agent.Clip(agent.OneLine(res.ProtocolVersion), 20)))
}

// list returns the server's tools.
func (c *session) list(ctx context.Context) ([]agent.ToolDef, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTime, fmt.Errorf("it did not answer within %s", listTime))
	defer cancel()
	found := listing{server: c.server}
	cursor := ""
	for range maxPages {
		page, err := c.legal.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, err
		}
		if !found.take(ctx, page.Tools) || page.NextCursor == "" {
			break
		}
		cursor = page.NextCursor
	}
	return found.done(ctx), nil
}

// call calls a tool over this session.
func (c *session) call(ctx context.Context, tool string, in agent.Input) (*sdk.CallToolResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	token, forget := c.expect(in.Progress)
	defer forget()
	params := &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(in.Arguments)}
	params.SetProgressToken(token)
	var res *sdk.CallToolResult
	var err error
	returned := make(chan struct{})
	// The call needs its own goroutine, because it can hang while it writes to a pipe that the server does not read. The end of
	// the call's context does not interrupt a write to the pipe.
	if !c.spawn(func() {
		defer close(returned)
		res, err = c.legal.CallTool(ctx, params)
	}) {
		return nil, sdk.ErrSessionMissing // nothing was sent, so another session may make the call
	}
	select {
	case <-returned:
		return res, err
	case <-c.ctx.Done():
		// The session has ended. Wait briefly for the answer to this call, because the answer may be the reason: the server may have
		// answered that it does not know the session. If the server did not know the session, the call had no effect.
		timer := time.NewTimer(lastAnswer)
		defer timer.Stop()
		select {
		case <-returned:
			if err == nil || errors.Is(err, sdk.ErrSessionMissing) {
				return res, err
			}
		case <-timer.C:
		}
		cancel(c.cause())
		return nil, c.cause()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// expect passes reports about the progress of a call to the function tell, until the function forget is called. The caller must
// send the call with the returned token.
func (c *session) expect(tell func(string)) (token string, forget func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	token = strconv.FormatInt(c.last, 10)
	if tell != nil {
		c.progress[token] = tell
	}
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.progress, token)
	}
}

// handleProgress passes a progress notification of the server to the call that it is about. The SDK's client calls
// handleProgress for one notification at a time.
func (c *session) handleProgress(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
	token, _ := req.Params.ProgressToken.(string)
	text := progressText(req.Params)
	c.mu.Lock() // held during tell, so that tell is not called after the call has returned
	defer c.mu.Unlock()
	if tell, ok := c.progress[token]; ok { // even without a text, because the notification shows that the call is alive
		tell(text)
	}
}

// progressText describes the progress of a call in a few words.
func progressText(p *sdk.ProgressNotificationParams) string {
	text := agent.Clip(agent.OneLine(p.Message), maxTitle)
	share := p.Progress / p.Total
	if p.Total <= 0 || math.IsNaN(share) || math.IsInf(share, 0) || share < 0 || share > 1 {
		return text
	}
	percent := strconv.Itoa(int(math.Floor(100*share))) + " %"
	if text == "" {
		return percent
	}
	return text + " (" + percent + ")"
}
