package ui

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"telex/platforms/terminal"
)

// Options configure a conversation.
type Options struct {
	Session string
	Dialect terminal.Dialect // the client's dialect
	In, Out *os.File         // both must be terminals
	// Again opens a new connection to the hub after the connection has ended, and attaches under the same client name.
	// If Again is nil, the conversation ends with the connection.
	Again func(context.Context) (*terminal.Client, terminal.Welcome, error)
	// Reflows says that the terminal wraps lines again when its window gets narrower.
	Reflows bool
}

// Converse runs a conversation in a terminal until the person leaves, ctx ends, or the connection ends. If the
// connection ends and o.Again is set, Converse connects again instead of ending. If the conversation ends because of
// the connection, Converse returns an error. At the end, Converse restores the terminal and closes c.
func Converse(ctx context.Context, c *terminal.Client, w terminal.Welcome, o Options) error {
	width, _, err := term.GetSize(int(o.Out.Fd()))
	if err != nil {
		return fmt.Errorf("look at the terminal: %w", err)
	}
	return converse(ctx, c, w, o, linePrinter{o.Out, width}, tea.WithInput(o.In), tea.WithOutput(o.Out))
}

// linePrinter prints lines that are final, so the user interface never redraws them.
type linePrinter struct {
	io.Writer
	width int
}

func converse(ctx context.Context, c *terminal.Client, w terminal.Welcome, o Options, out linePrinter, on ...tea.ProgramOption) error {
	m := newModel(c, w, o)
	if _, err := io.WriteString(out, m.history(w.History, out.width)); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	before := func(_ tea.Model, msg tea.Msg) tea.Msg {
		if size, ok := msg.(tea.WindowSizeMsg); ok {
			m.follow(size, out)
		}
		return msg
	}
	p := tea.NewProgram(m, append(on, tea.WithoutSignalHandler(), tea.WithFilter(before))...)
	var others sync.WaitGroup
	defer others.Wait()
	listening, deaf := context.WithCancel(context.WithoutCancel(ctx)) // when ctx ends, the end of an answer may still arrive
	defer deaf()
	over, end := context.WithCancel(ctx)
	defer end()
	others.Go(func() { listen(listening, c, o, p.Send) })
	others.Go(func() {
		<-over.Done()
		p.Send(leaveMsg{}) // Send does nothing after the program has ended
	})
	if _, err := p.Run(); err != nil {
		return fmt.Errorf("drive the terminal: %w", err)
	}
	return m.ended
}

// Reflows reports whether the terminal that the environment describes wraps lines again when its window gets narrower.
// Most terminals wrap lines again, so Reflows lists the exceptions.
func Reflows(getenv func(string) string) bool {
	return getenv("TERM") != "linux" && getenv("XTERM_VERSION") == "" && getenv("STY") == "" // exceptions: the Linux console, xterm, screen
}

// Capable reports whether Converse can draw on the terminal that the files and the environment describe.
func Capable(in, out *os.File, getenv func(string) string) bool {
	kind := getenv("TERM")
	return kind != "" && kind != "dumb" && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}
