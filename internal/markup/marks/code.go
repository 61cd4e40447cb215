package marks

import (
	"bytes"
	"strings"
)

// code writes the inline code f, which begins at i, and returns where the text goes on.
//
// A fence of one backtick does for code without backticks, one of two for any, as no two of
// them stand together. Code that begins a piece may be open, and nobody knows then what is in
// the rest of it.
func (w *writer) code(i int, f format) int {
	content := w.text[i:f.End]
	w.arrive(i, w.wanted(w.link() >= 0 && w.codeLabel(i, f.End), w.grammar.Fragile(content)))
	fence := "`"
	if i == 0 || strings.Contains(content, "`") {
		fence = "``"
	}
	if n := len(w.out); n > 0 && w.out[n-1] == '`' {
		w.out = append(w.out, Joiner...)
	}
	w.token(func() { w.out = append(w.out, fence...) })
	if spaced(content, strings.TrimLeft(content, " "), strings.HasPrefix) {
		w.out = append(w.out, Joiner...)
	}
	for j, r := range content {
		switch r {
		case '`':
			if w.out[len(w.out)-1] == '`' {
				w.out = append(w.out, Joiner...)
			}
			w.out = append(w.out, '`')
		case '\n':
			w.out = append(w.out, ' ')
		default:
			w.codeChar(i+j, r)
		}
	}
	if !f.Open {
		if n := len(w.out); w.out[n-1] == '`' || content[0] == ' ' && w.out[n-1] == ' ' || spaced(content, strings.TrimRight(content, " "), strings.HasSuffix) {
			w.out = append(w.out, Joiner...)
		}
		w.out = append(w.out, fence...)
	}
	w.start = false
	w.done = f.End
	return f.End
}

// spaced reports whether only spaces, which a reader would take off, stand between an end of
// code and a backtick. CommonMark takes one off at each end if it has one at both, whatever
// stands behind them.
func spaced(code, trimmed string, at func(s, prefix string) bool) bool {
	return len(trimmed) < len(code) && at(trimmed, "`")
}

// codeLabel reports whether all of the code from i to end can be in the label of a link.
func (w *writer) codeLabel(i, end int) bool {
	for j := range w.text[i:end] {
		if c := w.text[i+j]; c == '`' || c != '*' && c != '_' && c != '~' && c != '|' && c != '\\' && !w.grammar.Label(w.text, i+j, false) {
			return false
		}
	}
	return true
}

// codeChar writes the character r of code.
func (w *writer) codeChar(i int, r rune) {
	n := len(w.out)
	if r == '(' && !w.rules.CommonMark && w.lastLink >= 0 && n > 0 && w.out[n-1] == ']' && bytes.LastIndexByte(w.out, '[') == w.lastLink {
		w.out = append(w.out, Joiner...) // else the label of that link would end here, Discord's parser is greedy
	}
	w.out = w.grammar.Code(w.out, w.text, i, r)
}
