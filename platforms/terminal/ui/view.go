package ui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// maxInputRows is the maximum number of rows that show the input.
const maxInputRows = 6

// reserve returns the number of rows of the screen that the drawing never uses. The model may print as many lines above
// the drawing at once as reserve returns. If the model printed more lines at once, a part of the drawing would scroll
// off the screen, and the renderer could not redraw that part.
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

func (m *model) inputRows() int { return max(1, min(maxInputRows, m.height/3)) }

// room returns the number of screen rows in which messages can be shown.
func (m *model) room() int {
	input := 0
	if !m.leaving {
		rows, _, _ := m.editor.view(m.width, m.inputRows())
		input = len(rows)
	}
	return max(0, m.height-input-1-m.reserve())
}

// rows returns the rows of the drawing: the last rows of the messages, the input, and the status line.
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

// spinner contains the frames of the animation that the status line shows while the bot is working.
const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// status returns the status line, which is the last line of the screen.
func (m *model) status() string {
	turn := []rune(spinner)
	at := string(turn[m.phase%len(turn)])
	switch {
	case m.notice != "":
		return m.notice
	case m.leaving:
		return "leaving"
	case m.disconnected != "":
		return m.disconnected + " · trying again · Ctrl-C leaves"
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

// growing reports whether an answer is being written.
func (m *model) growing() bool {
	return slices.ContainsFunc(m.entries, func(e entry) bool { return e.live })
}

// The method mine formats a text that the person at the terminal wrote.
func (m *model) mine(text string) string {
	text = prompt + strings.ReplaceAll(text, "\n", "\n  ")
	if !m.dialect.Colour {
		return text
	}
	return style("\x1b[1m", text)
}

// dim formats less important text.
func (m *model) dim(text string) string {
	if !m.dialect.Colour || text == "" {
		return text
	}
	return style("\x1b[2m", text)
}

// style applies the style that the escape sequence on begins to each line of text.
func style(on, text string) string {
	if strings.Contains(text, "\x1b") {
		return text
	}
	return on + strings.ReplaceAll(text, "\n", plainStyle+"\n"+on) + plainStyle
}
