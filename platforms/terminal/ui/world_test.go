package ui

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"telex/internal/chat"
	"telex/platforms/terminal"
	"telex/platforms/terminal/screentest"
)

// patience is the maximum time of every wait. A step of a successful test takes far less time than patience, so only a
// failing test waits for the whole time.
const patience = 60 * time.Second

// world is a hub of a test. In place of a gateway, the test itself uses the hub.
type world struct {
	t     *testing.T
	hub   *terminal.Hub
	heard chan chat.Inbound
	conn  net.Conn    // the hub's side
	out   chan string // receives the texts that Ask prints, if the test uses Ask
}

const cursor = " ▌"

var session = chat.Target{Chat: "main"}

// newWorld returns a world and a connected client.
func newWorld(t *testing.T, history ...terminal.Line) (*world, *terminal.Client, terminal.Welcome) {
	t.Helper()
	w := &world{t: t, heard: make(chan chat.Inbound, 10)}
	w.hub = terminal.NewHub(terminal.HubOptions{
		Cursor: cursor, Log: slog.New(slog.DiscardHandler), Model: "main", Commands: []string{"new", "stop", "status"},
		History: func(context.Context, string) ([]terminal.Line, error) { return history, nil },
	})
	ctx, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		_ = w.hub.Run(ctx, chat.Resume{}, func(_ context.Context, in chat.Inbound) error { w.heard <- in; return nil })
	})
	ours, theirs := net.Pipe()
	w.conn = theirs
	running.Go(func() {
		if err := w.hub.Serve(ctx, theirs); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(func() { end(); running.Wait() })
	c, welcome, err := terminal.Attach(ours, terminal.Hello{Session: "main", Client: "me", Dialect: terminal.Dialect{Colour: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return w, c, welcome
}

// hears waits for the person's next input and returns the input.
func (w *world) hears() chat.Inbound {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	select {
	case in := <-w.heard:
		return in
	case <-ctx.Done():
		w.t.Fatal("nothing was heard")
	}
	return chat.Inbound{}
}

func preview(text string) chat.Outgoing {
	return chat.Outgoing{Text: text + cursor, Source: text, Preview: true}
}

func final(text string) chat.Outgoing { return chat.Outgoing{Text: text, Source: text} }

func (w *world) send(m chat.Outgoing) chat.MessageRef {
	w.t.Helper()
	r, err := w.hub.Send(w.t.Context(), session, m)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Ref
}

func (w *world) edit(ref chat.MessageRef, m chat.Outgoing) {
	w.t.Helper()
	if _, err := w.hub.Edit(w.t.Context(), ref, m); err != nil {
		w.t.Fatal(err)
	}
}

// person is a person who has a conversation at an emulated terminal.
type person struct {
	t      *testing.T
	screen *screentest.Screen
	keys   *io.PipeWriter
	over   chan error // receives the error of Converse
}

// lineDiscipline converts line ends as a terminal driver does by default.
type lineDiscipline struct{ to io.Writer }

func (d lineDiscipline) Write(p []byte) (int, error) {
	if _, err := d.to.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// sit starts a conversation on an emulated screen. After each write of the program, the function watch gets the lines
// of the screen.
func sit(t *testing.T, c *terminal.Client, w terminal.Welcome, width, height int, watch func([]string), change ...func(*Options)) *person {
	t.Helper()
	o := Options{Session: "main", Dialect: terminal.Dialect{Colour: true}}
	for _, f := range change {
		f(&o)
	}
	in, keys := io.Pipe()
	p := &person{t: t, keys: keys, over: make(chan error, 1)}
	p.screen = screentest.New(t, width, height, keys, watch)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.over <- converse(context.Background(), c, w, o, linePrinter{lineDiscipline{p.screen}, width},
			tea.WithInput(in), tea.WithOutput(lineDiscipline{p.screen}), tea.WithWindowSize(width, height),
			tea.WithEnvironment([]string{"TERM=xterm-256color"}))
	}()
	t.Cleanup(func() { _ = keys.Close(); _ = c.Close(); <-ended })
	p.screen.Await(t, "the prompt", screentest.Has("session main"))
	return p
}

func (p *person) types(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.keys, keys); err != nil {
		p.t.Fatal(err)
	}
}

// leaves waits until the conversation has ended, and then returns the lines on the screen.
func (p *person) leaves() ([]string, error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	select {
	case err := <-p.over:
		if !p.screen.CursorShown() {
			p.t.Error("the terminal's cursor is hidden at the end")
		}
		return p.screen.Lines(), err
	case <-ctx.Done():
		p.t.Fatalf("the conversation does not end:\n%q", p.screen.Lines())
	}
	return nil, nil
}
