package marks

import (
	"bytes"
	"strings"
)

// code writes the inline code f from the offset i to its end, and returns the end.
//
// One backtick on each side suffices for code that contains no backticks. Two backticks on each side work for any code,
// because a joiner separates adjacent backticks within the code. Code at the start of a piece may get longer later, and
// the new text may contain backticks. So code at the start of a piece gets two backticks on each side, except if
// Rules.Bare is set.
func (w *writer) code(i int, f format) int {
	content := w.text[i:f.End]
	w.arrive(i, w.wanted(w.link() >= 0 && w.codeLabel(i, f.End), w.grammar.Fragile(content)))
	fence := "`"
	if !w.rules.Bare && (i == 0 || strings.Contains(content, "`")) {
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

// spaced reports whether one end of the code consists of spaces next to a backtick. If both ends of the code that is
// written were spaces, CommonMark would remove one space at each end.
func spaced(code, trimmed string, at func(s, prefix string) bool) bool {
	return len(trimmed) < len(code) && at(trimmed, "`")
}

// codeLabel reports whether the code between the offsets i and end may be part of a link's label.
func (w *writer) codeLabel(i, end int) bool {
	for j := range w.text[i:end] {
		if c := w.text[i+j]; c == '`' || c != '*' && c != '_' && c != '~' && c != '|' && c != '\\' && !w.grammar.Label(w.text, i+j, false) {
			return false
		}
	}
	return true
}

// codeChar writes the character r, which is part of code.
func (w *writer) codeChar(i int, r rune) {
	n := len(w.out)
	if r == '(' && !w.rules.CommonMark && w.lastLink >= 0 && n > 0 && w.out[n-1] == ']' && bytes.LastIndexByte(w.out, '[') == w.lastLink {
		w.out = append(w.out, Joiner...) // without the joiner, Discord's greedy parser would end the last link's label here
	}
	w.out = w.grammar.Code(w.out, w.text, i, r)
}
