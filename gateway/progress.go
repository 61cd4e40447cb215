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
	mostLines = 5  // calls that are shown; of the others, how many there are
	mostShown = 80 // characters of what is said about one
)

// progress is what people see of a turn's tool calls. The lines stand until all calls have ended, and what
// comes late brings none back.
type progress struct {
	calls []toolLine // since there were none, in the order in which they were told
	over  []string   // the ids of those whose lines are gone
	since time.Time  // when the first of calls was told
	asks  *inquiry   // what a person is asked, in place of the lines
	mind  thought    // what the model thinks, where people want to see it
}

type toolLine struct {
	id, text string
	state    agent.ToolState
}

// tell takes the news of one call, and returns the lines as they are now; false when they did not change.
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

// ask puts a question to a person in place of the lines.
func (p *progress) ask(i inquiry) preview.Status {
	p.asks = &i
	return p.status()
}

// answered takes the question away.
func (p *progress) answered() preview.Status {
	p.asks = nil
	return p.status()
}

// think takes a piece of thinking, and returns what people see then; false when that did not change.
func (p *progress) think(delta string, now time.Time) (preview.Status, bool) {
	changed := p.mind.add(delta, now)
	return p.status(), changed
}

// rethink forgets what was thought for a text that is void.
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

// lines are the calls as people see them; those that are not over come before those that are.
func (p *progress) lines() []string {
	calls := slices.Clone(p.calls)
	slices.SortStableFunc(calls, func(a, b toolLine) int { return order(a.state) - order(b.state) })
	var out []string
	for i, c := range calls {
		if i == mostLines {
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

// clip makes one short line of a text.
func clip(text string) string { return clipTo(text, mostShown) }

// clipTo makes one line of so many characters at most.
func clipTo(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
