package gateway

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"telex/agent"
	"telex/gateway/preview"
)

const (
	maxCallLines = 5  // maximum number of tool calls that get a line; further tool calls are only counted
	maxCallText  = 80 // maximum length of the text about one tool call, in characters
)

// progress is the visible state of a turn's tool calls. Each tool call has a line. The lines of the tool calls are
// visible until all calls have ended. A late event of an ended call does not show the call's line again.
type progress struct {
	calls []toolLine // tool calls that have begun since the last time when none was running; ordered by first event
	over  []string   // ids of calls whose lines were removed
	since time.Time  // time of the first event of calls
	asks  *inquiry   // question for approval, shown instead of the lines
	mind  thought    // the model's thoughts, if the operator wants to show them
}

type toolLine struct {
	id, text string
	state    agent.ToolState
}

// tell updates progress after an event of one tool call. tell returns the new status, and reports whether the status
// has changed.
func (p *progress) tell(e agent.Tool, now time.Time) (preview.Status, bool) {
	if e.ID == "" || slices.Contains(p.over, e.ID) {
		return preview.Status{}, false
	}
	i := slices.IndexFunc(p.calls, func(c toolLine) bool { return c.id == e.ID })
	fresh := i < 0
	if fresh {
		if len(p.calls) == 0 {
			p.since = now
		}
		i, p.calls = len(p.calls), append(p.calls, toolLine{id: e.ID, text: e.Name})
	}
	before := p.calls[i]
	if p.calls[i].state = e.State; e.Display != "" {
		p.calls[i].text = clip(e.Display)
	}
	if !slices.ContainsFunc(p.calls, func(c toolLine) bool { return !ended(c.state) }) {
		for _, c := range p.calls {
			p.over = append(p.over, c.id)
		}
		p.calls = nil
		return p.status(), true
	}
	return p.status(), fresh || p.calls[i] != before
}

// ask shows a question for approval instead of the lines of the calls.
func (p *progress) ask(i inquiry) preview.Status {
	p.asks = &i
	return p.status()
}

// The method answered removes the question for approval.
func (p *progress) answered() preview.Status {
	p.asks = nil
	return p.status()
}

// think adds a piece of the model's thoughts. think returns the new status, and reports whether the status has changed.
func (p *progress) think(delta string, now time.Time) (preview.Status, bool) {
	changed := p.mind.add(delta, now)
	return p.status(), changed
}

// rethink discards the model's thoughts, because the reply starts over.
func (p *progress) rethink() preview.Status {
	p.mind = thought{}
	return p.status()
}

func (p *progress) status() preview.Status {
	var s preview.Status
	switch {
	case p.asks != nil:
		s = p.asks.status()
	case len(p.calls) > 0:
		s = preview.Status{Lines: p.lines(), Since: p.since}
	}
	s.Thought, s.ThoughtSince = p.mind.shown, p.mind.since
	return s
}

func ended(s agent.ToolState) bool { return s == agent.ToolCompleted || s == agent.ToolFailed }

// The method lines returns the visible lines of the calls. The lines of running calls come before those of ended calls.
func (p *progress) lines() []string {
	calls := slices.Clone(p.calls)
	slices.SortStableFunc(calls, func(a, b toolLine) int { return order(a.state) - order(b.state) })
	var out []string
	for i, c := range calls {
		if i == maxCallLines {
			return append(out, fmt.Sprintf("… +%d", len(calls)-i))
		}
		sign := map[agent.ToolState]string{agent.ToolCompleted: "✓", agent.ToolFailed: "✗", agent.ToolInterrupted: "⏸"}[c.state]
		if sign == "" {
			sign = "⚙"
		}
		out = append(out, sign+" "+c.text)
	}
	return out
}

func order(s agent.ToolState) int {
	if ended(s) {
		return 1
	}
	return 0
}

// clip shortens a text to one short line.
func clip(text string) string { return clipTo(text, maxCallText) }

// clipTo shortens a text to one line that has at most as many characters as the parameter most says.
func clipTo(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
