package ui

import (
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// follow keeps the renderer where the terminal has moved what was drawn: it erases from where it believes the first row
// to be. To be called before it learns of the new size.
func (m *model) follow(msg tea.WindowSizeMsg, out io.Writer) {
	if m.width == 0 || msg.Width <= 0 {
		return
	}
	heights, x, y := m.drawnRows(msg.Width)
	rows, up := 0, x/msg.Width
	for i, h := range heights {
		rows += h
		if i < y {
			up += h
		}
	}
	if up > y {
		_, _ = io.WriteString(out, ansi.CursorUp(up-y)) // a failure is the renderer's too
	}
	m.scrolledOff(heights, rows-msg.Height, msg.Width)
}

// drawnRows returns how many rows each drawn line takes at a width, and where the cursor is among the lines.
func (m *model) drawnRows(width int) (heights []int, x, y int) {
	v := m.View()
	if !m.reflows {
		width = m.width
	}
	for line := range strings.SplitSeq(v.Content, "\n") {
		heights = append(heights, max(1, (ansi.StringWidth(line)+width-1)/width))
	}
	if v.Cursor != nil {
		x, y = v.Cursor.X, v.Cursor.Y
	}
	return heights, x, y
}

// scrolledOff takes note of the final lines that the terminal itself has moved to the scrollback, so many rows of a width
// in all: they must not be printed there once more. Of the last one there may be a rest.
func (m *model) scrolledOff(heights []int, rows, width int) {
	if m.printing > 0 || m.excess() > 0 { // what is drawn does not begin with the first of them
		return
	}
	for len(m.above) > 0 && len(heights) > 0 && heights[0] <= rows {
		rows -= heights[0]
		m.above, heights = m.above[1:], heights[1:]
	}
	if rows > 0 && len(m.above) > 0 {
		m.above[0] = ansi.TruncateLeft(m.above[0], rows*width, "")
	}
}
