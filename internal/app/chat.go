package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"telex/agent"
	"telex/agent/tool"
	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/config"
	"telex/internal/store"
	"telex/internal/store/memory"
	"telex/platforms/terminal"
	"telex/platforms/terminal/ui"
)

// ChatOptions configures a conversation in a terminal.
type ChatOptions struct {
	Session  string   // name of the session, valid according to CheckSession
	Question string   // a single question, whose answer is printed; empty: a conversation with several questions
	Piped    bool     // the question was read from standard input, not typed
	Attach   []string // paths of files to attach to the question
	Config   string   // the configuration file that the command line names; empty: none
	In, Out  *os.File
	Trouble  io.Writer // receives prompts, and the errors of a single question
	Env      config.Env
	Log      *slog.Logger
	Keeper   []string      // the same as Options.Keeper
	Store    gateway.Store // nil: Chat opens the configured store
}

// ErrOtherConfig means that the running daemon uses another configuration file than the one that the command line
// names.
var ErrOtherConfig = errors.New("leave --config out to talk to the daemon; to talk without it, set STATE_DIRECTORY to another directory")

// CheckSession returns an error if name is not a valid name of a session.
func CheckSession(name string) error { return terminal.CheckSession(name) }

// Chat runs a conversation with the configured models at the terminal, or asks one question and prints the answer. If
// a daemon uses the store, Chat connects to the daemon. If no daemon uses the store, Chat runs a gateway itself, with
// the terminal as its only platform. When ctx ends, Chat ends in an orderly way.
func Chat(ctx context.Context, c *config.Config, o ChatOptions) (err error) {
	conn, local, err := connect(ctx, c, o)
	if err != nil {
		return err
	}
	defer func() { err = local.stop(err) }()
	return runConversation(ctx, conn, o, local == nil)
}

// ChatWithDaemon is like Chat, but talks to the running daemon, which has its own configuration. The state directory that the
// environment names determines which daemon ChatWithDaemon uses. ChatWithDaemon returns false if it can't reach the daemon.
func ChatWithDaemon(ctx context.Context, o ChatOptions) (found bool, err error) {
	conn, err := attachToDaemon(ctx, o.Env, nil)
	if errors.Is(err, errNoSocket) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	return true, runConversation(ctx, conn, o, true)
}

// runConversation runs the conversation between a terminal and a hub. conn is connected to the hub. If daemon is true,
// the hub belongs to a daemon, which may restart during the conversation.
func runConversation(ctx context.Context, conn net.Conn, o ChatOptions, daemon bool) error {
	capable := ui.Capable(o.In, o.Out, o.Env.Value)
	hello := terminal.Hello{Session: o.Session, Dialect: terminal.For(o.Env.Value, capable)}
	screen := ui.Options{Session: o.Session, Dialect: hello.Dialect, In: o.In, Out: o.Out, Reflows: ui.Reflows(o.Env.Value)}
	if capable && daemon && o.Question == "" {
		hello.Client = rand.Text()
		screen.Again = func(ctx context.Context) (*terminal.Client, terminal.Welcome, error) {
			return reconnect(ctx, o.Env, hello)
		}
	}
	client, welcome, err := terminal.Attach(conn, hello)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // ignore the error of Close: the conversation has ended
	if daemon && o.Config != "" && !sameFile(o.Config, welcome.Config) {
		return fmt.Errorf("a daemon runs with the configuration %s, not with %s: %w", cmp.Or(terminal.Clean(welcome.Config), "of its own"), o.Config, ErrOtherConfig)
	}
	switch {
	case o.Question != "":
		files, err := ui.ReadFiles(o.Attach)
		if err != nil {
			return err
		}
		return ui.Ask(ctx, client, terminal.Input{Text: o.Question, Piped: o.Piped, Files: files}, o.Out, o.Trouble)
	case capable:
		return ui.Converse(ctx, client, welcome, screen)
	default:
		return ui.Chat(ctx, client, o.In, o.Out, o.Trouble)
	}
}

// sameFile reports whether two paths lead to the same file. If a file does not exist, sameFile compares the paths as
// strings.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	two, errTwo := os.Stat(b)
	if err != nil || errTwo != nil {
		return absolute(a) == b
	}
	return os.SameFile(one, two)
}

// absolute returns an absolute path, because other processes may have another working directory.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// reconnect connects to the daemon again after the connection was lost, for example because the daemon restarted.
func reconnect(ctx context.Context, env config.Env, hello terminal.Hello) (*terminal.Client, terminal.Welcome, error) {
	conn, err := attachToDaemon(ctx, env, nil)
	if err != nil {
		return nil, terminal.Welcome{}, err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // closing the connection makes Attach return
	return terminal.Attach(conn, hello)
}

// connect returns a connection to a hub. If a daemon uses the store, connect uses the daemon's hub. If no daemon uses
// the store, connect starts a gateway with a hub in this process.
func connect(ctx context.Context, c *config.Config, o ChatOptions) (net.Conn, *ownGateway, error) {
	conn, l, err := startLocal(ctx, c, o)
	if errors.Is(err, store.ErrLocked) {
		conn, err = attachToDaemon(ctx, o.Env, err)
	}
	return conn, l, err
}

// attachToDaemon connects to the daemon that uses the store. The parameter locked is the error with which opening the store
// failed because a daemon uses it, or nil. If locked is nil and no daemon can be reached, attachToDaemon fails with
// errNoSocket.
func attachToDaemon(ctx context.Context, env config.Env, locked error) (net.Conn, error) {
	dir, err := stateDir(env)
	if err != nil {
		return nil, err
	}
	conn, err := dialDaemon(ctx, env, dir)
	if errors.Is(err, errNoSocket) && locked != nil {
		return nil, notReached(locked)
	}
	if err != nil {
		return nil, err
	}
	return remote{conn}.terminal(ctx)
}

// ownGateway is a gateway that Chat runs in this process.
type ownGateway struct {
	end     context.CancelFunc
	running sync.WaitGroup
	err     error // why the gateway failed; read this field only after the gateway has ended
}

// startLocal starts a gateway whose only endpoint is the terminal. The returned connection leads to the hub of this
// gateway.
func startLocal(ctx context.Context, c *config.Config, o ChatOptions) (net.Conn, *ownGateway, error) {
	alone := *c
	alone.Endpoints = nil // the configured endpoints belong to the daemon, so this gateway must not use them
	var a *App
	hub := terminal.NewHub(hubOptions(&alone, o.Log, func(ctx context.Context, session string) ([]terminal.Line, error) {
		return a.lastLines(ctx, session) // the hub calls this function when a client attaches
	}))
	a, err := New(ctx, &alone, Options{Log: o.Log, Env: o.Env, Store: o.Store, Keeper: o.Keeper, Terminal: hub})
	if err != nil {
		return nil, nil, err
	}
	// When ctx ends, the answer that is being written stops, but the gateway runs until end is called.
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	serving, endServing := context.WithCancel(lasting)
	l := &ownGateway{end: end}
	ours, theirs := net.Pipe()
	l.running.Go(func() {
		defer endServing() // clients stay connected until the answer to each of them is complete
		l.err = a.Run(lasting)
	})
	l.running.Go(func() {
		if err := hub.Serve(serving, theirs); err != nil {
			o.Log.Error("terminal connection failed", slog.Any("error", err))
		}
	})
	return ours, l, nil
}

// hubOptions returns the options of the terminal's hub for a configuration. history returns the last messages of a
// session.
func hubOptions(c *config.Config, log *slog.Logger, history func(context.Context, string) ([]terminal.Line, error)) terminal.HubOptions {
	model := c.Models[0].Name
	return terminal.HubOptions{
		Cursor: c.Streaming(config.TerminalEndpoint, 0).Cursor, Log: log,
		Model: model, Config: absolute(c.File()), History: history,
		Commands: gateway.CommandNames(slices.Contains(c.Tools.Enabled, tool.Memory)),
	}
}

// maxLines is the number of earlier messages that a person sees when returning to a session: two questions and two
// answers.
const maxLines = 4

// lastLines returns the last messages of a terminal session, as people saw them. lastLines leaves out the results of tools. If
// the model called tools, lastLines joins the texts that the model wrote before, between and after the calls into one answer.
// Messages that people wrote while the turn ran follow the joined answer.
func (a *App) lastLines(ctx context.Context, session string) ([]terminal.Line, error) {
	_, entries, err := a.store.Session(ctx, chat.Conversation{Endpoint: a.cli, Chat: chat.ChatID(session)})
	if err != nil {
		return nil, err
	}
	var out []terminal.Line
	answer, turn := 0, "" // index and turn of the newest answer
	for _, e := range entries {
		var m agent.Message
		if err := json.Unmarshal(e.Body, &m); err != nil {
			return nil, fmt.Errorf("read entry %d of the history: %w", e.ID, err)
		}
		switch {
		case strings.TrimSpace(m.Text) == "" || m.Role == agent.ToolRole:
			continue
		case m.Role == agent.User:
			out = append(out, terminal.Line{Mine: true, Text: m.Text})
		case e.Turn == "": // an older version of telex stored this entry
			out = append(out, terminal.Line{Text: m.Text})
		case e.Turn == turn:
			out[answer].Text = strings.TrimRight(out[answer].Text, "\n") + "\n\n" + m.Text
		default:
			answer, turn = len(out), e.Turn
			out = append(out, terminal.Line{Text: m.Text, ID: preview.Key(turn, 0)})
		}
	}
	return out[max(0, len(out)-maxLines):], nil
}

// stop stops the gateway, if there is one. If the gateway has failed, stop returns the error of the gateway, and otherwise err.
func (l *ownGateway) stop(err error) error {
	if l == nil {
		return err
	}
	l.end()
	l.running.Wait()
	if l.err != nil {
		return l.err
	}
	return err
}

// chatDemo is the configuration for a conversation with a stand-in for a model. ChatDemo inserts the address of the stand-in
// into this configuration.
const chatDemo = `
models:
  - {name: standin, base_url: "%s/v1", api_key: "%s", model: standin}
streaming: {enabled: true, min_tokens: 1}
admin: {listen: ""}
shutdown_grace: 10s
`

// ChatDemo is like Chat, but starts a stand-in for the model. ChatDemo needs no configuration and keeps the
// conversation only in memory.
func ChatDemo(ctx context.Context, rate float64, o ChatOptions) (err error) {
	model := openaiStandin(StandinOptions{Key: demoKey, Rate: rate, Log: o.Log})
	address, stop, err := startStandin(ctx, model, "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	c, err := config.Parse("demo", fmt.Appendf(nil, chatDemo, address, demoKey), o.Env)
	if err != nil {
		return err
	}
	o.Store = memory.New()
	return Chat(ctx, c, o)
}
