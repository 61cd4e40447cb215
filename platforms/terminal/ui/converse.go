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

// Options say how a conversation looks.
type Options struct {
	Session string
	Dialect terminal.Dialect // what the client has attached with
	In, Out *os.File         // a terminal
	// Again attaches anew, under the same name, once the connection has ended. Nil: then the conversation ends as well.
	Again func(context.Context) (*terminal.Client, terminal.Welcome, error)
	// Reflows says that the terminal wraps its lines anew when it gets narrower.
	Reflows bool
}

// Converse is a conversation in a terminal, until the person leaves, ctx ends, or the connection does and can't be made
// again, which is an error. The terminal is as it was afterwards. Converse closes c.
func Converse(ctx context.Context, c *terminal.Client, w terminal.Welcome, o Options) error {
	width, _, err := term.GetSize(int(o.Out.Fd()))
	if err != nil {
		return fmt.Errorf("look at the terminal: %w", err)
	}
	return converse(ctx, c, w, o, paper{o.Out, width}, tea.WithInput(o.In), tea.WithOutput(o.Out))
}

// paper is where lines are printed that nothing will be drawn over.
type paper struct {
	io.Writer
	width int
}

func converse(ctx context.Context, c *terminal.Client, w terminal.Welcome, o Options, out paper, on ...tea.ProgramOption) error {
	m := newModel(c, w, o)
	if _, err := io.WriteString(out, m.history(w.History, out.width)); err != nil {
		return fmt.Errorf("print what was said: %w", err)
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
	listening, deaf := context.WithCancel(context.WithoutCancel(ctx)) // what ends ctx may have to wait for an answer's end
	defer deaf()
	over, end := context.WithCancel(ctx)
	defer end()
	others.Go(func() { listen(listening, c, o, p.Send) })
	others.Go(func() {
		<-over.Done()
		p.Send(leaveMsg{}) // without effect once the program has ended
	})
	if _, err := p.Run(); err != nil {
		return fmt.Errorf("drive the terminal: %w", err)
	}
	return m.ended
}

// Reflows says that a terminal that the environment describes wraps its lines anew when it gets narrower: most do.
func Reflows(getenv func(string) string) bool {
	return getenv("TERM") != "linux" && getenv("XTERM_VERSION") == "" && getenv("STY") == "" // the console, xterm, screen
}

// Capable says that the files and the environment are those of a terminal on which Converse can draw.
func Capable(in, out *os.File, getenv func(string) string) bool {
	kind := getenv("TERM")
	return kind != "" && kind != "dumb" && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}
