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

// firstWait is the pause before the first attempt to reconnect, and mostWait is the longest pause between two attempts.
// After its start, a daemon waits for its clients longer than mostWait, so that clients can reconnect in time.
const (
	firstWait = 250 * time.Millisecond
	mostWait  = 2 * time.Second
)

// These are the events that listen reports about the connection.
type (
	awayMsg struct{ err error } // the connection has ended, or an attempt to reconnect has failed
	backMsg struct {            // the client has reconnected
		client  hubConn
		welcome terminal.Welcome
	}
)

// listen passes the hub's frames to the function tell until ctx ends. When the connection ends, listen connects again.
// If o.Again is nil, listen instead reports the end of the conversation and returns.
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

// The function read passes the hub's frames to the function tell until the connection or ctx ends.
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

// comeBack tries to connect again and to attach to the session, until an attempt succeeds or ctx ends.
func comeBack(ctx context.Context, again func(context.Context) (*terminal.Client, terminal.Welcome, error), tell func(tea.Msg)) (*terminal.Client, terminal.Welcome, error) {
	for wait := firstWait; ; wait = min(2*wait, mostWait) {
		select {
		case <-time.After(wait): //nolint:forbidigo // only the client waits, and the gateway runs in another program.
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

// lose records that the connection has ended. The screen continues to show all messages and the text that the person is
// typing.
func (m *model) lose(err error) {
	if m.leaving { // the person is leaving, so do not wait for a new connection
		m.ended = err
		m.settled()
		return
	}
	if m.disconnected == "" {
		m.gone, m.notice = err, "" // only when the connection is lost, so that a later notice stays during failed attempts
	}
	m.disconnected, m.typing = "telex is away", false
	if refused, ok := errors.AsType[*terminal.RefusedError](err); ok {
		m.disconnected = refused.Reason
	}
	for i := range m.entries {
		if e := &m.entries[i]; e.cursor != "" { // without a connection, no answer can grow
			e.cursor = ""
			e.lines = wrap(e.text, m.width)
		}
	}
}

// resume continues the conversation over a new connection. resume sends all unanswered inputs again, unless a hub might
// accept a repeated input twice.
func (m *model) resume(c hubConn, w terminal.Welcome) {
	if m.leaving {
		return
	}
	if !m.once || !w.Once { // the old or the new hub may accept a repeated input twice
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

// catchUp shows an answer that the bot completed while the client was not connected. If the screen shows the beginning
// of the answer, catchUp replaces this beginning with the whole answer. catchUp is not needed for unfinished answers,
// because the hub itself sends their messages to the client.
func (m *model) catchUp(l terminal.Line) {
	_, over := m.done[l.ID]
	if l.Mine || l.ID == "" || over || slices.ContainsFunc(m.entries, func(e entry) bool { return e.id == l.ID && !e.live }) {
		return
	}
	answer := l.ID[:strings.LastIndexByte(l.ID, '.')+1] // the ids of all messages of an answer have this prefix
	m.entries = slices.DeleteFunc(m.entries, func(e entry) bool {
		return answer != "" && strings.HasPrefix(e.id, answer) && e.id != l.ID
	})
	m.show(terminal.Message{ID: l.ID, Text: m.dialect.Markdown(l.Text)})
}
