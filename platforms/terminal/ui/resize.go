package ui

import (
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// follow adapts the model and the cursor to a new size, before the renderer learns of the size. The terminal may have
// moved the drawn rows. So follow moves the cursor, to make the renderer erase the screen from the first drawn row.
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

// scrolledOff records that the terminal itself moved final lines to the scrollback. Together they had the given
// number of rows of the given width. These lines must not be printed again. A part of the last line may still be on
// the screen.
func (m *model) scrolledOff(heights []int, rows, width int) {
	if m.printing > 0 || m.excess() > 0 { // the first drawn line is not the first line of above
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
