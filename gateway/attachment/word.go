package attachment

import (
	"encoding/xml"
	"strings"
)

// word reads the text of a DOCX file (ISO/IEC 29500-1, WordprocessingML). word writes headings and lists as in
// Markdown, and each row of a table as one line. word leaves out deleted text, headers, footers and comments.
func (a *archive) word(out *bounded) error {
	w := wordReader{out: out}
	return a.walk("word/document.xml", func(t xml.Token) error {
		switch t := t.(type) {
		case xml.StartElement:
			w.start(t)
		case xml.EndElement:
			w.end(t.Name.Local)
		case xml.CharData:
			if w.inText && w.skipped == 0 {
				w.add(string(t))
			}
		}
		if out.truncated {
			return errEnough
		}
		return nil
	})
}

// wordReader is the state of reading a DOCX file.
type wordReader struct {
	out     *bounded
	inText  bool
	skipped int    // number of enclosing elements that hide their text
	mark    string // the Markdown for a heading or list item at the beginning of the paragraph
	cells   []int  // number of cells in the current row of each enclosing table
}

// hidden reports whether the text of an element is not part of the document. Hidden text was deleted, was moved to
// another place, or is a copy for old programs.
func hidden(element string) bool {
	return element == "moveFrom" || element == "del" || element == "Fallback"
}

func (w *wordReader) start(e xml.StartElement) {
	const maxTables = 100 // maximum depth of tables in tables
	switch e.Name.Local {
	case "t":
		w.inText = true
	case "tab":
		w.out.separate(" ")
	case "br", "cr":
		w.breakLine("\n")
	case "p":
		w.mark = ""
	case "pStyle":
		w.style(attribute(e, "val"))
	case "numPr":
		if w.mark == "" {
			w.mark = "- "
		}
	case "tbl":
		if len(w.cells) < maxTables {
			w.cells = append(w.cells, 0)
		}
	case "tc":
		if n := len(w.cells); n > 0 {
			if w.cells[n-1]++; w.cells[n-1] > 1 {
				w.out.separator = ""
				w.out.add(" | ")
			}
		}
	default:
		if hidden(e.Name.Local) {
			w.skipped++
		}
	}
}

func (w *wordReader) style(name string) {
	level := strings.TrimPrefix(name, "Heading")
	switch {
	case name == "Title":
		level = "1"
	case level == name || len(level) != 1 || level < "1" || level > "6":
		return
	}
	w.mark = strings.Repeat("#", int(level[0]-'0')) + " "
	w.out.separate("\n\n")
}

func (w *wordReader) end(element string) {
	n := len(w.cells)
	switch element {
	case "t":
		w.inText = false
	case "p":
		w.breakLine("\n")
	case "tr":
		w.out.separator = ""
		w.out.separate("\n")
		if n > 0 {
			w.cells[n-1] = 0
		}
	case "tbl":
		if n > 0 {
			w.cells = w.cells[:n-1]
		}
		w.breakLine("\n\n")
	default:
		if hidden(element) && w.skipped > 0 {
			w.skipped--
		}
	}
}

// breakLine writes a line break. In a table, breakLine writes a space instead, since each row is one line.
func (w *wordReader) breakLine(s string) {
	if len(w.cells) > 0 {
		s = " "
	}
	w.out.separate(s)
}

func (w *wordReader) add(text string) {
	w.out.add(w.mark + text)
	w.mark = ""
}
