package ui

import (
	"context"
	"fmt"
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
}

// Converse is a conversation in a terminal, until the person leaves, ctx ends or the connection does, which is an error.
// The terminal is as it was afterwards.
func Converse(ctx context.Context, c *terminal.Client, w terminal.Welcome, o Options) error {
	return converse(ctx, c, w, o, tea.WithInput(o.In), tea.WithOutput(o.Out))
}

func converse(ctx context.Context, c *terminal.Client, w terminal.Welcome, o Options, on ...tea.ProgramOption) error {
	m := newModel(c, w, o)
	p := tea.NewProgram(m, append(on, tea.WithoutSignalHandler())...)
	var others sync.WaitGroup
	defer others.Wait()
	defer func() { _ = c.Close() }() // which ends the reading
	over, end := context.WithCancel(ctx)
	defer end()
	others.Go(func() { read(c, p) })
	others.Go(func() {
		<-over.Done()
		p.Send(leaveMsg{}) // without effect once the program has ended
	})
	if _, err := p.Run(); err != nil {
		return fmt.Errorf("drive the terminal: %w", err)
	}
	return m.ended
}

// read hands what the hub says to the program until the connection ends.
func read(c *terminal.Client, p *tea.Program) {
	for {
		f, err := c.Next()
		if err != nil {
			p.Send(endedMsg{err})
			return
		}
		p.Send(frameMsg{f})
	}
}

// Capable says that the files and the environment are those of a terminal on which Converse can draw.
func Capable(in, out *os.File, getenv func(string) string) bool {
	kind := getenv("TERM")
	return kind != "" && kind != "dumb" && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}
