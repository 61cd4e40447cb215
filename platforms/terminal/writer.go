package terminal

import (
	"slices"
	"strconv"
	"strings"

	"telex/internal/markup"
)

// reset is the escape sequence that ends all formatting; see
// https://ecma-international.org/publications-and-standards/standards/ecma-48/.
const reset = "\x1b[0m"

// writer writes one piece of an answer with escape sequences. writer ends a format at the position where the format
// ends, but begins a style only immediately before the next character. If a text grows, the output for the longer text
// therefore begins with the output for the shorter text.
type writer struct {
	dialect Dialect
	text    string
	out     strings.Builder
	active  []markup.Format // the formats that are not closed yet, from the outermost to the innermost
	sgr     string          // the escape sequence of the current style
	line    bool            // the next character is the first character of a line
}

func (w *writer) open(f markup.Format) {
	if f.Style == markup.Quote && !w.line {
		w.style("")
		w.out.WriteString(quoteBar)
	}
	if f.Style == markup.Link {
		if f.URL = cleanURL(f.URL); f.URL != "" && w.dialect.Links {
			w.out.WriteString(osc8(f.URL))
		}
	}
	w.active = append(w.active, f)
}

// closeAt ends the formats that end at offset at.
func (w *writer) closeAt(at int) {
	for n := len(w.active) - 1; n >= 0 && w.active[n].End <= at; n-- {
		w.close(w.active[n], n)
	}
}

func (w *writer) close(f markup.Format, n int) {
	w.active = w.active[:n]
	w.style("")
	if f.Style != markup.Link || f.URL == "" {
		return
	}
	if w.dialect.Links {
		w.out.WriteString(osc8(""))
	} else if !says(w.text[f.Start:f.End], f.URL) {
		w.out.WriteString(" (" + f.URL + ")")
	}
}

// says reports whether the text of a link already shows the URL of the link.
func says(text, url string) bool {
	return url == text || url == "http://"+text || url == "mailto:"+text
}

// char writes one character of the text.
func (w *writer) char(r rune) {
	switch {
	case r == '\n':
		w.style("")
		w.out.WriteByte('\n')
		w.line = true
		return
	case harmful(r):
		return
	}
	if w.line {
		w.line = false
		w.prefix()
	}
	w.style(w.sequence())
	w.out.WriteRune(r)
}

// prefix writes the quote bars and the indents at the beginning of a line.
func (w *writer) prefix() {
	for _, f := range w.active {
		switch f.Style {
		case markup.Quote:
			w.out.WriteString(quoteBar)
		case markup.Pre:
			w.out.WriteString(codeIndent)
		}
	}
}

// finish ends the formats that are open at the end of the text, except formats that continue in later text.
func (w *writer) finish(end int) {
	for n, f := range slices.Backward(w.active) {
		if f.Open {
			return
		}
		if f.End >= end {
			w.close(f, n)
		}
	}
	w.style("")
}

// sequence returns the escape sequence of the style that results from the active formats.
func (w *writer) sequence() string {
	if !w.dialect.Colour {
		return ""
	}
	var on [10]bool // which SGR parameters are on, indexed by the parameter
	for _, f := range w.active {
		switch f.Style {
		case markup.Bold:
			on[1] = true
		case markup.Heading:
			on[1] = true
			on[4] = on[4] || f.Level == 1
		case markup.Italic:
			on[3] = true
		case markup.Strike:
			on[9] = true
		case markup.Code, markup.Pre:
			on[2] = true
		case markup.Link:
			on[4] = on[4] || f.URL != ""
		}
	}
	var params []string
	for i, set := range on {
		if set {
			params = append(params, strconv.Itoa(i))
		}
	}
	if len(params) == 0 {
		return ""
	}
	return "\x1b[" + strings.Join(params, ";") + "m"
}

// The method style writes the escape sequence of a style, unless this style is already the current style.
func (w *writer) style(sgr string) {
	if sgr == w.sgr {
		return
	}
	if w.sgr != "" {
		w.out.WriteString(reset)
	}
	w.out.WriteString(sgr)
	w.sgr = sgr
}

// osc8 returns the escape sequence that begins a link to a URL. With an empty URL, the sequence ends the current link.
func osc8(url string) string { return "\x1b]8;;" + url + "\x1b\\" }
