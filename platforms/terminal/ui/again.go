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

// The first and the longest pause before the next attempt to connect. After its start, a daemon waits longer than the
// longest pause for its clients.
const (
	firstWait = 250 * time.Millisecond
	mostWait  = 2 * time.Second
)

// Events of the connection.
type (
	awayMsg struct{ err error } // the connection has ended, or an attempt to make a new one failed
	backMsg struct {            // there is a new connection
		client  hubConn
		welcome terminal.Welcome
	}
)

// listen passes the hub's frames to tell until ctx ends. When a connection ends, listen makes another one, unless
// o.Again is nil.
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

// read passes the hub's frames to tell until the connection or ctx ends.
func read(ctx context.Context, c *terminal.Client, tell func(tea.Msg)) error {
	defer func() { _ = c.Close() }() // the connection has ended
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	for {
		f, err := c.Next()
		if err != nil {
			return err
		}
		tell(frameMsg{f})
	}
}

// comeBack tries to connect and attach again, until it succeeds or ctx ends.
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

// lose records that the connection has ended. All shown messages stay visible, and so does the text that the person
// is typing.
func (m *model) lose(err error) {
	if m.leaving { // the person is leaving, so nothing is worth waiting for
		m.ended = err
		m.settled()
		return
	}
	if m.disconnected == "" {
		m.gone, m.notice = err, "" // clear the notice only when the connection ends, not after each failed attempt
	}
	m.disconnected, m.typing = "telex is away", false
	if refused, ok := errors.AsType[*terminal.RefusedError](err); ok {
		m.disconnected = refused.Reason
	}
	for i := range m.entries {
		if e := &m.entries[i]; e.cursor != "" { // no answer grows while there is no connection
			e.cursor = ""
			e.lines = wrap(e.text, m.width)
		}
	}
}

// resume continues over a new connection. It repeats the unanswered inputs, because the hub accepts each of them only
// once.
func (m *model) resume(c hubConn, w terminal.Welcome) {
	if m.leaving {
		return
	}
	if !m.once || !w.Once { // one of the hubs may not recognize repeated inputs
		m.waiting = nil
	}
	m.client, m.once, m.name, m.offers, m.takesFiles, m.disconnected, m.notice = c, w.Once, terminal.Clean(w.Model), offers(w), w.Files, "", ""
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

// catchUp shows an answer that was completed while there was no connection, where its beginning is shown. Unfinished
// answers need no catching up, because the hub sends them by itself.
func (m *model) catchUp(l terminal.Line) {
	_, over := m.done[l.ID]
	if l.Mine || l.ID == "" || over || slices.ContainsFunc(m.entries, func(e entry) bool { return e.id == l.ID && !e.live }) {
		return
	}
	answer := l.ID[:strings.LastIndexByte(l.ID, '.')+1] // the prefix that the ids of all messages of an answer share
	m.entries = slices.DeleteFunc(m.entries, func(e entry) bool {
		return answer != "" && strings.HasPrefix(e.id, answer) && e.id != l.ID
	})
	m.show(terminal.Message{ID: l.ID, Text: m.dialect.Markdown(l.Text)})
}
