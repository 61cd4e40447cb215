package marks

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"telex/internal/markup"
)

// sign returns the mark that begins and ends a style. In Markdown it never uses an underscore for italic text, since no
// platform accepts one within a word.
func (r Rules) sign(s markup.Style) string {
	if r.Mark != nil {
		return r.Mark(s)
	}
	switch s {
	case markup.Bold:
		return "**"
	case markup.Italic:
		return "*"
	default:
		return "~~"
	}
}

// open writes the mark that begins a format.
func (w *writer) open(f int) {
	w.marks = append(w.marks, f)
	n := len(w.out)
	if w.inline[f].Style == markup.Link {
		if n > 0 && w.out[n-1] == '!' {
			w.out = append(w.out, Joiner...) // after an exclamation mark, the link would be an image
		}
		w.token(func() {
			w.lastLink = len(w.out)
			w.out = append(w.out, '[')
		})
		return
	}
	m := w.rules.sign(w.inline[f].Style)
	if n > 0 && w.out[n-1] == m[0] {
		if w.opened == n { // the marks form one run
			w.out = append(w.out, m...)
			w.opened = len(w.out)
			return
		}
		// If a closing mark precedes this one directly, the two would form one run; on Discord this holds for any mark.
		// On other platforms a joiner is not possible after a mark that is shown as text, since this mark could then
		// close an outer one.
		if w.shut == n || !w.rules.CommonMark || m[0] == '~' { // a tilde before tildes would keep them from being a mark
			w.out = append(w.out, Joiner...)
		}
	}
	w.token(func() { w.out = append(w.out, m...) })
	w.clings = w.rules.CommonMark && clings(last(w.out[:len(w.out)-len(m)]))
	w.opened = len(w.out)
}

// close writes the mark that ends the innermost open format. tight says that no white space follows in the text.
//
// A mark after punctuation ends nothing unless white space or punctuation follows it
// (https://spec.commonmark.org/0.31.2/#right-flanking-delimiter-run). After a character of a script without spaces, the
// next character is not known yet.
func (w *writer) close(tight bool) {
	f := w.inline[w.marks[len(w.marks)-1]]
	w.marks = w.marks[:len(w.marks)-1]
	if f.Style == markup.Link {
		w.out = append(w.out, "]("...)
		w.out = append(w.out, f.destination...)
		w.out = append(w.out, ')')
		return
	}
	m := w.rules.sign(f.Style)
	n := len(w.out)
	same := w.out[n-1] == m[0]
	if !same || w.shut != n { // otherwise it would form one run with the mark before
		before := last(w.out)
		shown, _ := utf8.DecodeLastRuneInString(w.text[:w.done])
		if same || w.rules.CommonMark && punctuation(before) && (tight || shown >= utf8.RuneSelf) {
			w.out = append(w.out, Joiner...)
		}
	}
	w.out = append(w.out, m...)
	w.shut = len(w.out)
}

// token writes text other than white space. If punctuation followed marks that were just opened next to a word,
// the marks would not open (https://spec.commonmark.org/0.31.2/#left-flanking-delimiter-run), so token inserts a
// joiner.
func (w *writer) token(write func()) {
	at := len(w.out)
	write()
	if w.opened != at || !w.clings {
		return
	}
	if r, _ := utf8.DecodeRune(w.out[at:]); punctuation(r) {
		w.out = slices.Insert(w.out, at, []byte(Joiner)...)
		if w.lastLink >= at {
			w.lastLink += len(Joiner)
		}
	}
}

// last returns the last character of b, or 0.
func last(b []byte) rune {
	if len(b) == 0 {
		return 0
	}
	r, _ := utf8.DecodeLastRune(b)
	return r
}

// clings reports whether the effect of a mark after this character depends on the following character.
func clings(r rune) bool { return r != 0 && !unicode.IsSpace(r) && !punctuation(r) }

// punctuation reports whether a character is punctuation as defined by CommonMark.
func punctuation(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
