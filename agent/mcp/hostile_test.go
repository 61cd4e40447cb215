package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"telex/agent"
)

// A server answers a call with a request for further input. The client must not fulfil the server's request and must not repeat
// the call.
func TestACallIsMadeOnce(t *testing.T) {
	var calls atomic.Int32
	made := func() *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "test"}, nil)
		s.AddTool(&sdk.Tool{Name: "busy", InputSchema: schema()}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			calls.Add(1)
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{}, RequestState: "later"}, nil
		})
		return s
	}
	virtual(t, Server{Name: "it"}, made, func(t *testing.T, c *Client, _ *memory, log *said) {
		_, err := find(t, c, "it_busy").Call(t.Context(), agent.Input{Arguments: `{}`})
		if n := calls.Load(); n != 1 || err == nil || !strings.Contains(err.Error(), "asks for further input") {
			t.Errorf("called %d times: %v\n%s", n, err, log)
		}
	})
}

// If a server lists two tools with the same name, the client always uses the first one.
func TestFirstOfTwoToolsWithTheSameName(t *testing.T) {
	t.Parallel()
	log := &said{}
	s := newServer(Server{Name: "it"}, Options{Log: log.logger()}, nil)
	list := listing{server: s}
	list.take(t.Context(), []*sdk.Tool{
		{Name: "a", Description: "the first", InputSchema: map[string]any{}}, {Name: "a", Description: "another", InputSchema: map[string]any{}},
	})
	defs := list.done(t.Context())
	if len(defs) != 1 || defs[0].Description != "the first" || !strings.Contains(log.String(), "another has its name") {
		t.Errorf("there are %+v\n%s", defs, log)
	}
}

// A server may repeat the secrets that it was given. The secrets are removed from the server's answers and from the reason
// why the server is unavailable.
func TestErrorsHoldNoSecret(t *testing.T) {
	const secret = "very-secret-key"
	for _, config := range []Server{
		{Name: "it", Env: map[string]string{"KEY": secret}},
		{Name: "it", Args: []string{"--key=" + secret}, Secrets: []string{secret}},
	} {
		errorsHoldNoSecret(t, config, secret)
	}
}

func errorsHoldNoSecret(t *testing.T, config Server, secret string) {
	t.Helper()
	made := func() *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "test"}, nil)
		s.AddTool(&sdk.Tool{Name: "refuse", InputSchema: schema()}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "nothing is known of " + secret}
		})
		return s
	}
	virtual(t, config, made, func(t *testing.T, c *Client, _ *memory, log *said) {
		_, err := find(t, c, "it_refuse").Call(t.Context(), agent.Input{Arguments: `{}`})
		if err == nil || err.Error() != "nothing is known of [redacted]" || strings.Contains(log.String(), secret) {
			t.Errorf("%v\n%s", err, log)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		log := &said{}
		s := newServer(config, Options{Log: log.logger()}, func(*server, func(error)) (link, error) { return link{}, errors.New("no door for " + secret) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.run(ctx)
		if st := s.status(); st.Err != "no door for [redacted]" || strings.Contains(log.String(), secret) {
			t.Errorf("it is %+v\n%s", st, log)
		}
	})
}

// When a server exits, its child processes are killed. Child processes that are not killed would keep the server's output open
// and run forever.
func TestChildrenOfAnEndedServerAreKilled(t *testing.T) {
	t.Parallel()
	s := myself(t, "parent")
	s.Env["PIDS"] = filepath.Join(t.TempDir(), "pids")
	log := &said{}
	c, err := start(newServer(s, Options{Log: log.logger()}, nil), newLines(log.logger(), newSecrets(s)), func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	defer c.end()
	<-c.exited
	raw, err := os.ReadFile(s.Env["PIDS"])
	if err != nil {
		t.Fatal(err)
	}
	var grandchild int
	if _, err := fmt.Sscan(string(raw), &grandchild); err != nil {
		t.Fatal(err)
	}
	until(t, "the process to be gone", func() bool { return !alive(grandchild) })
}

// stuck is a transport that blocks every call, like a pipe that the server does not read.
type stuck struct{ sdk.Transport }

type stuckConn struct {
	sdk.Connection
	closed chan struct{}
	once   sync.Once
}

func (s stuck) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := s.Transport.Connect(ctx)
	return &stuckConn{Connection: c, closed: make(chan struct{})}, err
}

func (c *stuckConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if req, ok := m.(*jsonrpc.Request); ok && req.Method == "tools/call" {
		<-c.closed
		time.Sleep(lastAnswer / 2)
		return fmt.Errorf("closed: %w", sdk.ErrSessionMissing)
	}
	return c.Connection.Write(ctx, m)
}

func (c *stuckConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	time.Sleep(lastAnswer * 3 / 4) // running calls end during this time
	return c.Connection.Close()
}

// onStuck runs f with a server that blocks every call until end is called.
func onStuck(t *testing.T, f func(t *testing.T, s *server, end func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{made: newTestServer}
		s := newServer(Server{Name: "it"}, Options{Log: (&said{}).logger()}, func(s *server, fail func(error)) (link, error) {
			l, err := m.open(s, fail)
			l.transport = stuck{l.transport}
			return l, err
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.run(ctx) }()
		synctest.Wait()
		f(t, s, func() { cancel(); <-done })
		m.turn(false)
	})
}

// A call ends when its context ends, even while the call is blocked in a write to the pipe.
func TestCallThatBlocksThePipe(t *testing.T) {
	onStuck(t, func(t *testing.T, s *server, end func()) {
		why := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, why)
		defer cancel()
		began := time.Now()
		echo, _ := defined(s.tools(), "it_echo")
		if _, err := s.call(ctx, "echo", echo, agent.Input{Arguments: `{}`}); !errors.Is(err, why) || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		end()
	})
}

// A session ends on this side while a call is waiting. A moment later, the server answers that it does not know the session. An
// answer that the session is unknown shows that the server has not carried out the call, so the call may be repeated.
func TestAnswerThatEndsTheSession(t *testing.T) {
	onStuck(t, func(t *testing.T, s *server, end func()) {
		s.mu.Lock()
		live := s.live
		s.mu.Unlock()
		called := make(chan error, 1)
		go func() {
			_, err := live.call(t.Context(), "echo", agent.Input{Arguments: `{}`})
			called <- err
		}()
		synctest.Wait()
		end()
		if err := <-called; !errors.Is(err, sdk.ErrSessionMissing) {
			t.Errorf("the call's error is %v", err)
		}
	})
}

// After a call has returned, its progress is not reported any more.
func TestProgressEndsWithItsCall(t *testing.T) {
	t.Parallel()
	c := &session{progress: map[string]func(string){}}
	var told []string
	token, forget := c.expect(func(s string) { told = append(told, s) })
	for _, text := range []string{"one", "two"} {
		c.handleProgress(t.Context(), &sdk.ProgressNotificationClientRequest{
			Params: &sdk.ProgressNotificationParams{ProgressToken: token, Message: text},
		})
		forget()
	}
	if len(told) != 1 || told[0] != "one" || len(c.progress) != 0 {
		t.Errorf("told %q", told)
	}
}
