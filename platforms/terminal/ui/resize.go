package ui

import (
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// follow adapts to a new size before the renderer learns of it: the terminal may have moved the drawn rows, so it erases
// from where the renderer expects its first row.
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
		_, _ = io.WriteString(out, ansi.CursorUp(up-y)) // if it fails, the renderer fails, too
	}
	m.scrolledOff(heights, rows-msg.Height, msg.Width)
}

// drawnRows returns how many rows each drawn line occupies at a width, and the position of the cursor among the lines.
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

// scrolledOff records that the terminal itself moved final lines to the scrollback, in all so many rows of a width. They
// must not be printed again. Part of the last one may still be on the screen.
func (m *model) scrolledOff(heights []int, rows, width int) {
	if m.printing > 0 || m.excess() > 0 { // the drawing does not begin with the first of them
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
