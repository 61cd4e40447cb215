package ui

import (
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// The method follow adapts the model and the cursor to a new size of the terminal. Converse calls follow before the
// renderer gets the new size. When the size changes, the terminal may move the drawn rows. The method follow therefore
// moves the cursor, so that the renderer erases the screen from the first drawn row on.
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
		_, _ = io.WriteString(out, ansi.CursorUp(up-y)) // if writing fails, the renderer fails too
	}
	m.scrolledOff(heights, rows-msg.Height, msg.Width)
}

// drawnRows returns how many rows each drawn line occupies at the given width, and the column and the line of the
// cursor.
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

// scrolledOff records that the terminal moved final lines to the scrollback when its size changed, so that the model
// does not print these lines again. The parameter rows is the number of screen rows that the terminal moved, and the
// parameter width is the width of these rows. A part of the last moved line may still be on the screen.
func (m *model) scrolledOff(heights []int, rows, width int) {
	if m.printing > 0 || m.excess() > 0 { // the first line on the screen is not the first line of above
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
