package ui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// mostInput is how many rows of what is being typed are drawn.
const mostInput = 6

// reserve is how many rows of the screen are never drawn on. So many lines can be printed above what is drawn without
// pushing any of it off the screen, where it could not be drawn again: the renderer moves within the screen only.
func (m *model) reserve() int { return max(1, m.height/4) }

// View implements tea.Model.
func (m *model) View() tea.View {
	if m.width == 0 || m.left() {
		return tea.NewView("")
	}
	rows := m.rows()
	v := tea.NewView(strings.Join(rows, "\n"))
	if !m.leaving {
		input, x, y := m.editor.view(m.width, m.inputRows())
		v.Cursor = tea.NewCursor(x, len(rows)-1-len(input)+y)
	}
	return v
}

func (m *model) inputRows() int { return max(1, min(mostInput, m.height/3)) }

// room is how many rows there are for what was said.
func (m *model) room() int {
	input := 0
	if !m.leaving {
		rows, _, _ := m.editor.view(m.width, m.inputRows())
		input = len(rows)
	}
	return max(0, m.height-input-1-m.reserve())
}

// rows returns what is drawn: the end of what was said as far as there is room, what is being typed, and the status.
func (m *model) rows() []string {
	said := append([]string{}, m.above...)
	for _, e := range m.entries {
		said = append(append(said, e.lines...), "")
	}
	var input []string
	if !m.leaving {
		input, _, _ = m.editor.view(m.width, m.inputRows())
	}
	if room := m.room(); len(said) > room {
		said = said[len(said)-room:]
	}
	return append(append(said, input...), m.dim(ansi.Truncate(m.status(), m.width, "…")))
}

// spinner turns while the bot is at work.
const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// status is the last line.
func (m *model) status() string {
	turn := []rune(spinner)
	at := string(turn[m.phase%len(turn)])
	switch {
	case m.notice != "":
		return m.notice
	case m.leaving:
		return "leaving"
	case m.away != "":
		return m.away + " · trying again · Ctrl-C leaves"
	case m.growing():
		return at + " writing · Ctrl-C stops"
	case m.busy():
		return at + " thinking · Ctrl-C stops"
	}
	parts := []string{"session " + m.session, "/help", "Ctrl-D leaves"}
	if m.name != "" {
		parts = append([]string{m.name}, parts...)
	}
	return strings.Join(parts, " · ")
}

// growing says that an answer is being written.
func (m *model) growing() bool {
	return slices.ContainsFunc(m.entries, func(e entry) bool { return e.live })
}

// mine is how the person's own words look.
func (m *model) mine(text string) string {
	text = prompt + strings.ReplaceAll(text, "\n", "\n  ")
	if !m.dialect.Colour {
		return text
	}
	return style("\x1b[1m", text)
}

// dim is what matters less.
func (m *model) dim(text string) string {
	if !m.dialect.Colour || text == "" {
		return text
	}
	return style("\x1b[2m", text)
}

// style puts a style on each line of text that has none of its own.
func style(on, text string) string {
	if strings.Contains(text, "\x1b") {
		return text
	}
	return on + strings.ReplaceAll(text, "\n", plainStyle+"\n"+on) + plainStyle
}
