package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"telex/agent"
)

// playVar is the environment variable that makes this binary a server. The value of the variable is the kind of server.
const playVar = "TELEX_MCP_PLAYS"

// play acts as a server of the given kind on standard input and output.
func play(kind string) {
	ctx := context.Background()
	switch kind {
	case "server":
		fmt.Fprintln(os.Stderr, "the server begins, with the key "+os.Getenv("KEY"))
		_ = newTestServer().Run(ctx, &sdk.StdioTransport{})
	case "mute": // never answers
		if err := os.WriteFile(os.Getenv("PIDS"), nil, 0o600); err != nil {
			os.Exit(3)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "stubborn": // has a child process, and only SIGKILL ends it
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGPIPE)
		child := exec.Command("sleep", "600")
		if err := child.Start(); err != nil {
			os.Exit(3)
		}
		if err := os.WriteFile(os.Getenv("PIDS"), fmt.Appendf(nil, "%d %d", os.Getpid(), child.Process.Pid), 0o600); err != nil {
			os.Exit(3)
		}
		_ = newTestServer().Run(ctx, &sdk.StdioTransport{})
		select {}
	case "parent": // leaves a child process behind, which keeps the server's output open
		child := exec.Command("sleep", "600")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			os.Exit(3)
		}
		if err := os.WriteFile(os.Getenv("PIDS"), fmt.Append(nil, child.Process.Pid), 0o600); err != nil {
			os.Exit(3)
		}
	case "daemon": // runs a server in a shell until the daemon is killed
		c, err := New(Options{
			Servers: []Server{{Name: "it", Command: "sh", Args: os.Args[1:]}}, Log: slog.New(slog.DiscardHandler), Keeper: keeperCommand(),
		})
		if err != nil {
			os.Exit(3)
		}
		c.Run(ctx)
	case "broken":
		fmt.Fprintln(os.Stderr, "no such database")
		os.Exit(3)
	case "old": // ignores unknown requests, as some old servers do
		old()
	}
}

// old acts as a minimal server, without the SDK.
func old() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &req) != nil {
			os.Exit(3)
		}
		switch req.Method {
		case "initialize":
			fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}}`+"\n", req.ID)
		case "tools/list":
			fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"hi","inputSchema":{"type":"object"}}]}}`+"\n", req.ID)
		case "tools/call":
			fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"hello"}]}}`+"\n", req.ID)
		}
	}
}

// schema returns the schema of an object with any fields.
func schema() *jsonschema.Schema { return &jsonschema.Schema{Type: "object"} }

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

// newTestServer returns a server with one tool for each behavior that the tests need.
func newTestServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1.2"}, nil)
	add := func(t sdk.Tool, h sdk.ToolHandler) {
		if t.InputSchema == nil {
			t.InputSchema = schema()
		}
		s.AddTool(&t, h)
	}
	add(sdk.Tool{Name: "echo", Title: "Echo", Description: "Says it again.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return text(string(req.Params.Arguments)), nil
		})
	add(sdk.Tool{Name: "env"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		env := os.Environ()
		slices.Sort(env)
		return text(strings.Join(env, "\n")), nil
	})
	add(sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res := text("the disk of " + os.Getenv("KEY") + " is full")
		res.IsError = true
		return res, nil
	})
	add(sdk.Tool{Name: "crash"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "panic: everything is broken")
		os.Exit(2)
		return nil, errors.New("not reached")
	})
	add(sdk.Tool{Name: "hang"}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Message: "I hang",
		}); err != nil {
			return nil, err
		}
		select { // a stateless server of the SDK does not learn that the client has gone
		case <-ctx.Done():
		case <-time.After(10 * time.Minute):
		}
		return nil, errors.New("it is over")
	})
	add(sdk.Tool{Name: "progress"}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for i := 1.0; i <= 3; i++ {
			if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: req.Params.GetProgressToken(), Message: fmt.Sprintf("step %g", i), Progress: i, Total: 4,
			}); err != nil {
				return nil, err
			}
		}
		return text("done"), nil
	})
	add(sdk.Tool{Name: "grow"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		add(sdk.Tool{Name: "grown"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("I am new"), nil })
		s.RemoveTools("env")
		return text("grown"), nil
	})
	return s
}

// said is an in-memory log.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *said) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// myself returns the configuration with which this binary runs as a server of the given kind.
func myself(t *testing.T, kind string) Server {
	t.Helper()
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: "it", Command: me, Env: map[string]string{playVar: kind, "KEY": "very-secret-key"}}
}

// keeperCommand returns the command that runs this binary as a keeper.
func keeperCommand() []string { return []string{"/proc/self/exe", keeperArg} }

// running returns a client that runs until the test ends.
func running(t *testing.T, servers ...Server) (*Client, *said) {
	t.Helper()
	log := &said{}
	c, err := New(Options{Servers: servers, Version: "test", Log: log.logger(), Keeper: keeperCommand()})
	if err != nil {
		t.Fatal(err)
	}
	return c, runs(t, c, log)
}

func runs(t *testing.T, c *Client, log *said) *said {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		if t.Failed() {
			t.Log(log)
		}
	})
	return log
}

// until waits until a condition holds, for example because of another process. If the condition does not hold after 90 seconds,
// the test fails.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); !is(); {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the test is over")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// find waits for a tool and returns it.
func find(t *testing.T, box agent.Toolbox, name string) agent.ToolDef {
	t.Helper()
	var found agent.ToolDef
	until(t, "the tool "+name, func() bool {
		for _, def := range box.Tools() {
			if def.Name == name {
				found = def
			}
		}
		return found.Call != nil
	})
	return found
}

func call(t *testing.T, def agent.ToolDef, arguments string) agent.Output {
	t.Helper()
	out, err := def.Call(t.Context(), agent.Input{Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", def.Name, err)
	}
	return out
}
