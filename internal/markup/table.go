package markup

import (
	"bytes"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// gap is the text between two columns.
const gap = "  "

// table lays out a table as a code block with aligned columns.
func (f *flattener) table(n *extast.Table) {
	var rows [][]cell
	var starts []int
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		var row []cell
		for c := r.FirstChild(); c != nil && len(row) < len(n.Alignments); c = c.NextSibling() {
			row = append(row, f.cell(c))
		}
		rows = append(rows, row)
		starts = append(starts, r.Pos())
	}
	cond := runewidth.Condition{StrictEmojiNeutral: true}
	widths := make([]int, len(n.Alignments))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], cond.StringWidth(cell.text), 1)
		}
	}
	f.preformatted("", func() {
		for i, row := range rows {
			aligns := n.Alignments
			if i == 0 {
				// The first column is always left-aligned, because a message can't begin with white space and may
				// begin with a table.
				aligns = append([]extast.Alignment{extast.AlignLeft}, aligns[1:]...)
			}
			f.flush()
			f.anchor(starts[i], 0)
			text, cells := line(&cond, row, widths, aligns)
			if f.shape.Extras.Has(Tables) {
				f.structure(i == 0, text, cells)
			}
			f.write([]byte(text), -1)
			f.newline++
			if i == 0 {
				f.write([]byte(ruler(widths)), -1)
				f.newline++
			}
		}
	})
}

// cell is the content of a cell on one line.
type cell struct {
	text    string
	formats []Format
}

// cell lays out the content of a table cell. In a cell, each run of white space becomes a single space.
func (f *flattener) cell(n ast.Node) cell {
	b := builder{src: f.src}
	b.inlines(n)
	var c cell
	at := make([]int, len(b.text)+1) // for each byte of the cell's text, its offset in the new text
	text := make([]byte, 0, len(b.text))
	for _, field := range fields(b.text) {
		if len(text) > 0 {
			text = append(text, ' ')
		}
		for i := field[0]; i < field[1]; i++ {
			at[i] = len(text)
			text = append(text, b.text[i])
		}
		at[field[1]] = len(text)
	}
	c.text = string(text)
	if !f.shape.Extras.Has(CellStyles) {
		return c
	}
	for _, style := range b.formats {
		inner := fields(b.text[max(style.Start, 0):max(style.End, style.Start, 0)])
		if len(inner) == 0 {
			continue
		}
		first, last := style.Start+inner[0][0], style.Start+inner[len(inner)-1][1]
		style.Start, style.End = at[first], at[last-1]+1
		c.formats = append(c.formats, style)
	}
	return c
}

// fields returns the start and the end of each word of a text.
func fields(s []byte) (list [][2]int) {
	at := 0
	for word := range bytes.FieldsSeq(s) {
		start := at + bytes.Index(s[at:], word)
		at = start + len(word)
		list = append(list, [2]int{start, at})
	}
	return list
}

// structure adds the formats of a row and its cells. After calling structure, the caller writes the text of the row.
func (f *flattener) structure(head bool, text string, cells []Format) {
	row := Format{Style: Row, Start: len(f.text), End: len(f.text) + len(text)}
	if head {
		row.Level = 1
	}
	f.formats = append(f.formats, row)
	for _, c := range cells {
		c.Start, c.End = c.Start+row.Start, min(c.End+row.Start, row.End)
		f.formats = append(f.formats, c)
	}
}

// line returns the text of a row, with each cell padded to the width of its column. line also returns the formats of
// the cells and of their texts.
func line(cond *runewidth.Condition, row []cell, widths []int, aligns []extast.Alignment) (string, []Format) {
	var s strings.Builder
	var cells []Format
	for i, cell := range row {
		if i > 0 {
			s.WriteString(gap)
		}
		room := widths[i] - cond.StringWidth(cell.text)
		left, align := 0, ""
		switch aligns[i] {
		case extast.AlignRight:
			left, align = room, "right"
		case extast.AlignCenter:
			left, align = room/2, "center"
		}
		s.WriteString(strings.Repeat(" ", left))
		cells = append(cells, Format{Style: Cell, Start: s.Len(), End: s.Len() + len(cell.text), Level: i + 1, Align: align})
		for _, style := range cell.formats {
			style.Start, style.End = style.Start+s.Len(), style.End+s.Len()
			cells = append(cells, style)
		}
		s.WriteString(cell.text)
		s.WriteString(strings.Repeat(" ", room-left))
	}
	return strings.TrimRight(s.String(), " "), cells
}

// ruler returns the line between the head of a table and its other rows.
func ruler(widths []int) string {
	dashes := make([]string, len(widths))
	for i, w := range widths {
		dashes[i] = strings.Repeat("-", w)
	}
	return strings.Join(dashes, gap)
}
