package marks

import (
	"strings"
	"unicode/utf8"

	"telex/internal/markup"
)

// row is a row of a table. The field cells contains only the cells that are not empty.
type row struct {
	head  bool
	cells []markup.Format
}

// structure adds a row to the last table, or a cell to the last row of that table.
func (w *writer) structure(f markup.Format) {
	if len(w.blocks) == 0 || w.rules.Tables == 0 {
		return
	}
	table := &w.blocks[len(w.blocks)-1]
	switch n := len(table.rows); {
	case f.End > table.End:
	case f.Style == markup.Row:
		table.rows = append(table.rows, row{head: f.Level == 1})
	case f.Style == markup.Cell && n > 0:
		f.Level = min(max(f.Level, 1), w.rules.Tables)
		table.rows[n-1].cells = append(table.rows[n-1].cells, f)
	}
}

// table writes a table at the start of a line. If a line is directly above the table, table first writes a blank line,
// because the line above would otherwise become the table's head. If the head is in an earlier message, table writes an
// empty head.
func (w *writer) table(f format, prefix string) {
	if begun := strings.TrimSuffix(string(w.out), prefix); strings.HasSuffix(begun, "\n") && !strings.HasSuffix(begun, "\n"+prefix+"\n") {
		w.out = append(w.out, "\n"+prefix...)
	}
	var aligns []string
	for _, r := range f.rows {
		for _, c := range r.cells {
			for len(aligns) < c.Level {
				aligns = append(aligns, "---")
			}
			switch c.Align {
			case "right":
				aligns[c.Level-1] = "--:"
			case "center":
				aligns[c.Level-1] = ":-:"
			}
		}
	}
	ruler := "\n" + prefix + "|" + strings.Join(aligns, "|") + "|"
	if !f.rows[0].head {
		w.out = append(w.out, strings.Repeat("| ", len(aligns))+"|"+ruler+"\n"+prefix...)
	}
	for i, r := range f.rows {
		if i > 0 {
			w.out = append(w.out, "\n"+prefix...)
		}
		w.row(r, len(aligns))
		if r.head {
			w.out = append(w.out, ruler...)
		}
	}
	w.start, w.fenced, w.tabled = false, true, true
	w.done = f.End
}

// row writes a row of a table. The parameter columns is the table's number of columns.
func (w *writer) row(r row, columns int) {
	at := 0
	for _, c := range r.cells {
		for ; at < c.Level; at++ {
			w.out = append(w.out, "| "...)
		}
		for i := c.Start; i < c.End; {
			_, size := utf8.DecodeRuneInString(w.text[i:])
			place := Place{Text: w.text, At: i, Size: size, Line: c.Start}
			if w.text[i] == '|' && !place.Start() {
				w.out = append(w.out, '\\')
			}
			w.out = w.grammar.Escape(w.out, place)
			i += size
		}
		w.out = append(w.out, ' ')
	}
	for ; at < columns; at++ {
		w.out = append(w.out, "| "...)
	}
	w.out = append(w.out, '|')
}
