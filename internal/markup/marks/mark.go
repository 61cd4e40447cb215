package marks

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"telex/internal/markup"
)

// sign returns the delimiter that begins and ends text of a style. In Markdown, the delimiter of italic text is never
// an underscore, because no platform accepts an underscore within a word.
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

// open writes the delimiter that begins the format with the index f.
func (w *writer) open(f int) {
	w.marks = append(w.marks, f)
	n := len(w.out)
	if w.inline[f].Style == markup.Link {
		if n > 0 && w.out[n-1] == '!' {
			w.out = append(w.out, Joiner...) // directly after an exclamation mark, the link would become an image
		}
		w.token(func() {
			w.lastLink = len(w.out)
			w.out = append(w.out, '[')
		})
		return
	}
	m := w.rules.sign(w.inline[f].Style)
	if n > 0 && w.out[n-1] == m[0] {
		if w.opened == n { // the two opening delimiters may form one run
			w.out = append(w.out, m...)
			w.opened = len(w.out)
			return
		}
		// A closing delimiter directly before this opening delimiter would form one run with it, so a joiner separates the
		// two. On Discord, a joiner is written after any delimiter. On other platforms, a joiner must not follow a delimiter
		// character that is shown as text, because this character could then close an outer format.
		if w.shut == n || !w.rules.CommonMark || m[0] == '~' { // a run of more than two tildes is not a delimiter
			w.out = append(w.out, Joiner...)
		}
	}
	w.token(func() { w.out = append(w.out, m...) })
	w.clings = w.rules.CommonMark && clings(last(w.out[:len(w.out)-len(m)]))
	w.opened = len(w.out)
}

// close writes the delimiter that ends the innermost open format. If tight is true, no white space follows in the text.
//
// After punctuation, a delimiter ends a format only if white space or punctuation follows the delimiter
// (https://spec.commonmark.org/0.31.2/#right-flanking-delimiter-run). In a script without spaces, the character that
// follows the delimiter may not have arrived yet.
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
	if !same || w.shut != n { // two adjacent closing delimiters may form one run
		before := last(w.out)
		shown, _ := utf8.DecodeLastRuneInString(w.text[:w.done])
		if same || w.rules.CommonMark && punctuation(before) && (tight || shown >= utf8.RuneSelf) {
			w.out = append(w.out, Joiner...)
		}
	}
	w.out = append(w.out, m...)
	w.shut = len(w.out)
}

// token calls the function write, which writes text other than white space. CommonMark ignores an opening delimiter
// between a word and punctuation (https://spec.commonmark.org/0.31.2/#left-flanking-delimiter-run). If an opening
// delimiter is between a word and punctuation, token inserts a joiner after the delimiter.
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

// last returns the last character of b, or 0 if b is empty.
func last(b []byte) rune {
	if len(b) == 0 {
		return 0
	}
	r, _ := utf8.DecodeLastRune(b)
	return r
}

// clings reports whether the platform must examine the character after a delimiter to decide whether the delimiter
// counts. The parameter r is the character before the delimiter.
func clings(r rune) bool { return r != 0 && !unicode.IsSpace(r) && !punctuation(r) }

// punctuation reports whether a character is punctuation as defined by CommonMark.
func punctuation(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
