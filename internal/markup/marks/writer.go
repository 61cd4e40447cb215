package marks

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"telex/internal/markup"
)

// Write returns the piece as a platform's Markdown. If text is appended to a piece whose last formats are Open, the
// result of the next call of Write begins with the result of this call.
func Write(g Grammar, p markup.Piece) string {
	text := strings.TrimRightFunc(p.Text, unicode.IsSpace)
	if !markup.Visible(text) {
		return strings.TrimSpace(text)
	}
	w := writer{grammar: g, rules: g.Rules(), text: text, start: true, head: -1, quote: -1, opened: -1, shut: -1, lastLink: -1}
	w.out = make([]byte, 0, len(text)+len(text)/4+16)
	w.sort(p.Formats)
	w.write()
	return string(w.out)
}

// writer writes one piece.
type writer struct {
	grammar Grammar
	rules   Rules
	text    string
	out     []byte
	done    int // end of the text that was written; the white space after it is written together with the next text

	quotes, heads, blocks, inline []format // formats by kind, each list sorted by the start of its formats
	nextQuote, nextHead           int      // index of the first quote and of the first heading that end after the current place
	covering                      []int    // indexes in inline of the formats that cover the current place, outer first
	next                          int      // index in the field inline of the first format that begins after the current place
	marks                         []int    // indexes in the field inline of the formats that are still open in out

	items  []format // the list markers that have not been written yet
	listed []listed // the list of the current line, preceded by the lists around it

	start  bool // the current place is at the start of a line
	line   int  // start of the text in the current line
	head   int  // index in the field heads of the heading in this line, or -1
	quote  int  // index in the field quotes of the quote in this line, or -1
	fenced bool // a code block or a table ends in this line
	tabled bool // a table ends in this line

	opened, shut int   // lengths of out just after the last opening delimiter and just after the last closing delimiter
	clings       bool  // the character before the last opening delimiter is neither white space nor punctuation
	lastLink     int   // offset in out of the last link, or -1
	want         []int // a buffer that the method wanted uses again and again
}

// format is a format with the state that the writer needs.
type format struct {
	markup.Format
	destination string // for a link: what to write between the parentheses
	spent       bool   // for a link: the link was closed and must not be opened again
	rows        []row  // for a table (style Pre): its rows
}

// sort divides the formats by kind, and drops formats that the platform's Markdown can't express.
func (w *writer) sort(formats []markup.Format) {
	for _, f := range formats {
		f.Start, f.End = max(f.Start, 0), min(f.End, len(w.text))
		if f.Start >= f.End {
			continue
		}
		line := f.Start == 0 || w.text[f.Start-1] == '\n'
		switch {
		case f.Style == markup.Quote:
			// A quote within another quote is written as part of the outer quote. A quote after a bullet does not begin its
			// line, so Markdown can't express this quote, and it is left out.
			if n := len(w.quotes); line && (n == 0 || w.quotes[n-1].End <= f.Start) {
				w.quotes = append(w.quotes, format{Format: f})
			}
			continue
		case f.Style == markup.Pre:
			w.blocks = append(w.blocks, format{Format: f})
			continue
		case f.Style == markup.Row || f.Style == markup.Cell || f.Style == markup.Task:
			w.structure(f)
			continue
		case f.Style == markup.Item:
			if w.rules.Lists {
				w.items = append(w.items, format{Format: f})
			}
			continue
		case f.Style == markup.Heading && line && f.Level <= w.rules.Headings:
			w.heads = append(w.heads, format{Format: f})
			continue
		case f.Style == markup.Heading:
			f.Style = markup.Bold
		}
		if w.rules.Bare && !w.bare(f) {
			continue
		}
		w.inline = append(w.inline, format{Format: f})
	}
}

// write writes the whole text of the piece.
func (w *writer) write() {
	for i := 0; i < len(w.text); {
		if len(w.blocks) > 0 && w.blocks[0].Start <= i {
			i = w.block(w.blocks[0])
			w.blocks = w.blocks[1:]
			continue
		}
		if len(w.items) > 0 && w.items[0].Start <= i {
			i = w.item(i)
			continue
		}
		code := w.cover(i)
		if code >= 0 && strings.TrimSpace(w.text[i:w.inline[code].End]) != "" {
			i = w.code(i, w.inline[code])
			continue
		}
		r, size := utf8.DecodeRuneInString(w.text[i:])
		if unicode.IsSpace(r) {
			i += size
			continue
		}
		i = w.char(i, size)
	}
	w.finish()
}

// cover finds the inline formats that cover the offset i. cover returns the index of the format that is code, or -1 if
// none of them is code.
func (w *writer) cover(i int) (code int) {
	for n := len(w.covering); n > 0 && w.inline[w.covering[n-1]].End <= i; n-- {
		w.covering = w.covering[:n-1]
	}
	for w.next < len(w.inline) && w.inline[w.next].Start <= i {
		f := &w.inline[w.next]
		if f.End > i && !w.covered(f.Style) {
			if f.Style == markup.Link {
				f.destination = w.grammar.Link(w.text, f.Format, len(w.covering) == 0)
			}
			if f.Style != markup.Link || f.destination != "" {
				w.covering = append(w.covering, w.next)
			}
		}
		w.next++
	}
	if n := len(w.covering); n > 0 {
		if c := w.covering[n-1]; w.inline[c].Style == markup.Code {
			return c
		}
	}
	return -1
}

// covered reports whether a format that covers the current place has the given style.
func (w *writer) covered(s markup.Style) bool {
	for _, i := range w.covering {
		if w.inline[i].Style == s {
			return true
		}
	}
	return false
}

// boundary returns where the innermost inline format at the current place ends, or where the next format begins,
// whichever comes first.
func (w *writer) boundary() (end int, opens bool) {
	end = len(w.text)
	if n := len(w.covering); n > 0 {
		end = w.inline[w.covering[n-1]].End
	}
	if w.next < len(w.inline) && w.inline[w.next].Start <= end {
		end, opens = w.inline[w.next].Start, true
	}
	if len(w.blocks) > 0 && w.blocks[0].Start <= end {
		end, opens = w.blocks[0].Start, true
	}
	return end, opens
}

// char writes the character at offset i, which has size bytes, or the URL that begins at i. char returns the offset
// after the written text.
func (w *writer) char(i, size int) int {
	end, opens := w.boundary()
	if address, n := w.grammar.Address(nil, w.text, i, end, opens); n > 0 {
		w.arrive(i, w.wanted(false, w.grammar.Fragile(w.text[i:i+n])))
		w.token(func() { w.out = append(w.out, address...) })
		w.start = false
		w.done = i + n
		return w.done
	}
	link := w.link()
	w.arrive(i, w.wanted(link >= 0 && w.grammar.Label(w.text, i, !w.isOpen(link)), false))
	at := Place{Text: w.text, At: i, Size: size, Line: w.line, Heading: w.head >= 0, Label: link >= 0 && w.isOpen(link)}
	w.token(func() { w.out = w.grammar.Escape(w.out, at) })
	w.start = false
	w.done = i + size
	return w.done
}

// link returns the index of the link that covers the current place, or -1.
func (w *writer) link() int {
	for _, i := range w.covering {
		if w.inline[i].Style == markup.Link {
			return i
		}
	}
	return -1
}

// wanted returns the indexes of the formats that must be open for the next token. If label is true, the token may be
// part of a link's label. If fragile is true, the token would end styles too early.
func (w *writer) wanted(label, fragile bool) []int {
	w.want = w.want[:0]
	for _, i := range w.covering {
		switch f := &w.inline[i]; f.Style {
		case markup.Code:
		case markup.Link:
			if label && !f.spent {
				w.want = append(w.want, i)
			} else if w.isOpen(i) {
				f.spent = true // without the field spent, the link would be written a second time after this token
			}
		default:
			if !fragile {
				w.want = append(w.want, i)
			}
		}
	}
	return w.want
}

func (w *writer) isOpen(f int) bool { return slices.Contains(w.marks, f) }

// arrive writes the white space before the offset i. arrive also writes closing delimiters before this white space, and
// opening delimiters after it, so that exactly the formats in want are open. At a line break, all formats are closed,
// because no format stays open across lines.
func (w *writer) arrive(i int, want []int) {
	gap := w.text[w.done:i]
	keep := 0
	if !strings.Contains(gap, "\n") {
		for keep < len(want) && keep < len(w.marks) && want[keep] == w.marks[keep] {
			keep++
		}
	}
	for len(w.marks) > keep {
		w.close(gap == "")
	}
	switch {
	case len(w.out) == 0:
		w.beginLine(i)
	case gap != "" || w.fenced:
		w.space(gap, i)
	}
	for _, f := range want[keep:] {
		w.open(f)
	}
}
