package whatsapp

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"telex/internal/markup"
	"telex/internal/markup/marks"
)

// Dialect writes WhatsApp's own markup (https://faq.whatsapp.com/539178204879377). It has no escapes, and
// marks count only at the edges of words.
//
//	Markdown                      becomes
//	**bold**, # heading           *bold*
//	*italic*, _italic_            _italic_
//	~~strike~~                    ~strike~
//	`code`                        `code`, without the backticks if the code contains some
//	fenced code, table            ``` around the same lines
//	[text](url), ![alt](url)      text (url) for http, https and mailto; else plain text
//	> quote                       > quote; a quote in a quote is part of the outer one
//	- item, 1. item               the same; nested items have other marks
//	in**wor**ds, **a * b**        no formatting
//	\*a\*                         *a* with a joiner before it, so that it is not bold
type Dialect struct{}

var _ markup.Dialect = Dialect{}

// Shape returns the usual symbols, with list items in the form that WhatsApp recognizes.
func (Dialect) Shape() markup.Shape {
	s := markup.Plain{}.Shape()
	s.Bullets = []string{"-", "◦", "▪"}
	return s
}

// Render returns the piece as one string.
func (Dialect) Render(p markup.Piece) markup.Rendered {
	return markup.Rendered{Text: marks.Write(grammar{}, withLinkURLs(p))}
}

// Len counts UTF-16 code units. WhatsApp's limits are in characters, which it does not define. UTF-16 units are safe,
// because a text never has more code points.
func (Dialect) Len(r markup.Rendered) int { return markup.Units(r.Text) }

// withLinkURLs writes the URL of each link after its label, unless they are equal, because WhatsApp has no links with
// labels.
func withLinkURLs(p markup.Piece) markup.Piece {
	formats := append([]markup.Format(nil), p.Formats...)
	text, added := p.Text, 0
	for i, f := range p.Formats {
		if f.Style != markup.Link {
			continue
		}
		to := marks.Destination(f.URL, "http", "https", "mailto")
		label := p.Text[f.Start:f.End]
		if to == "" || f.Open || label == f.URL || "mailto:"+label == f.URL || strings.TrimSpace(label) == "" {
			continue
		}
		end := f.End + added
		behind := " (" + to + ")"
		text = text[:end] + behind + text[end:]
		for j := range formats {
			g := &formats[j]
			if g.Start >= end {
				g.Start += len(behind)
			}
			if inner := p.Formats[j]; g.End > end || g.End == end && j < i && inner.Start <= f.Start && inner.Style != markup.Link {
				g.End += len(behind)
			}
		}
		added += len(behind)
	}
	return markup.Piece{Text: text, Formats: formats}
}

// grammar describes WhatsApp's markup.
type grammar struct{}

var noLanguage = regexp.MustCompile(`^$`)

// Rules says that the markup has no escapes and no headings.
func (grammar) Rules() marks.Rules {
	return marks.Rules{Bare: true, Mark: mark, Language: noLanguage}
}

// mark returns the mark that begins and ends a style.
func mark(s markup.Style) string {
	switch s {
	case markup.Bold:
		return "*"
	case markup.Italic:
		return "_"
	default:
		return "~"
	}
}

// Escape appends a character of text. A joiner precedes a character that could begin a style or a quote.
func (grammar) Escape(out []byte, at marks.Place) []byte {
	c := at.Text[at.At]
	opens := false
	switch c {
	case '*', '_', '~':
		before, _ := utf8.DecodeLastRuneInString(at.Text[:at.At])
		behind, _ := utf8.DecodeRuneInString(at.Text[at.At+at.Size:])
		opens = at.Next() != 0 && !unicode.IsSpace(behind) && !unicode.IsLetter(before) && !unicode.IsDigit(before)
	case '>':
		opens = at.Start()
	}
	if opens {
		out = append(out, marks.Joiner...)
	}
	return append(out, at.Rest()[:at.Size]...)
}

// Code appends a character of code.
func (grammar) Code(out []byte, _ string, _ int, r rune) []byte { return utf8.AppendRune(out, r) }

// Address finds URLs. They stay unchanged, because the apps turn them into links.
func (grammar) Address(out []byte, text string, i, end int, _ bool) ([]byte, int) {
	rest := text[i:end]
	if !strings.HasPrefix(rest, "https://") && !strings.HasPrefix(rest, "http://") {
		return out, 0
	}
	n := strings.IndexFunc(rest, unicode.IsSpace)
	if n < 0 {
		n = len(rest)
	}
	return append(out, rest[:n]...), n
}

// Link returns "", because WhatsApp has no links with labels.
func (grammar) Link(string, markup.Format, bool) string { return "" }

// Label returns true. WhatsApp has no links with labels, so there is nothing to restrict.
func (grammar) Label(string, int, bool) bool { return true }

// Fragile reports whether a style around code or a URL could end inside it.
func (grammar) Fragile(s string) bool { return strings.ContainsAny(s, "*_~") }
