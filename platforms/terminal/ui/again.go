package ui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"telex/platforms/terminal"
)

// The first and the longest pause before the next attempt to connect. A daemon that has started waits longer for its clients.
const (
	firstWait = 250 * time.Millisecond
	mostWait  = 2 * time.Second
)

// What happens to the connection.
type (
	awayMsg struct{ err error } // it has ended, or could not be made again
	backMsg struct {            // there is another
		client  side
		welcome terminal.Welcome
	}
)

// listen tells what the hub says until ctx ends, over one connection after the other.
func listen(ctx context.Context, c *terminal.Client, o Options, tell func(tea.Msg)) {
	for {
		err := read(ctx, c, tell)
		if o.Again == nil {
			tell(endedMsg{err})
			return
		}
		tell(awayMsg{err})
		var w terminal.Welcome
		if c, w, err = comeBack(ctx, o.Again, tell); err != nil {
			return
		}
		tell(backMsg{c, w})
	}
}

// read tells what the hub says until the connection or ctx ends.
func read(ctx context.Context, c *terminal.Client, tell func(tea.Msg)) error {
	defer func() { _ = c.Close() }() // it has ended
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	for {
		f, err := c.Next()
		if err != nil {
			return err
		}
		tell(frameMsg{f})
	}
}

// comeBack tries to attach until it succeeds, or ctx ends, which is its error.
func comeBack(ctx context.Context, again func(context.Context) (*terminal.Client, terminal.Welcome, error), tell func(tea.Msg)) (*terminal.Client, terminal.Welcome, error) {
	for wait := firstWait; ; wait = min(2*wait, mostWait) {
		select {
		case <-time.After(wait): //nolint:forbidigo // the client is a program of its own; nothing of the gateway waits.
		case <-ctx.Done():
			return nil, terminal.Welcome{}, ctx.Err()
		}
		c, w, err := again(ctx)
		if err == nil {
			return c, w, nil
		}
		tell(awayMsg{err})
	}
}

// lose notes that the connection is gone. Everything shown stays, and so does what is being typed.
func (m *model) lose(err error) {
	if m.leaving { // nothing is waited for any more
		m.ended = err
		m.settled()
		return
	}
	if m.away == "" {
		m.gone = err
	}
	m.away, m.notice, m.typing = "telex is away", "", false
	if refused, ok := errors.AsType[*terminal.RefusedError](err); ok {
		m.away = refused.Reason
	}
	for i := range m.entries {
		if e := &m.entries[i]; e.cursor != "" { // nothing is being written
			e.cursor = ""
			e.lines = wrap(e.text, m.width)
		}
	}
}

// resume continues over a new connection. It sends unanswered inputs again: a hub takes each once.
func (m *model) resume(c side, w terminal.Welcome) {
	if m.leaving {
		return
	}
	if !m.once || !w.Once { // one of them may not know what it was told before
		m.waiting = nil
	}
	m.client, m.once, m.name, m.offers, m.takesFiles, m.away, m.notice = c, w.Once, terminal.Clean(w.Model), offers(w), w.Files, "", ""
	for _, l := range w.History {
		m.catchUp(l)
	}
	if len(m.waiting) == 0 {
		m.settled()
	}
	for _, s := range m.waiting {
		m.say(s)
	}
}

// catchUp shows an answer that was completed while the connection was gone, in its place. One that is being completed
// only now comes by itself.
func (m *model) catchUp(l terminal.Line) {
	_, over := m.done[l.ID]
	if l.Mine || l.ID == "" || over || slices.ContainsFunc(m.entries, func(e entry) bool { return e.id == l.ID && !e.live }) {
		return
	}
	answer := l.ID[:strings.LastIndexByte(l.ID, '.')+1] // begins the ids of all its messages
	m.entries = slices.DeleteFunc(m.entries, func(e entry) bool {
		return answer != "" && strings.HasPrefix(e.id, answer) && e.id != l.ID
	})
	m.show(terminal.Message{ID: l.ID, Text: m.dialect.Markdown(l.Text)})
}
