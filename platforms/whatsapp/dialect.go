package whatsapp

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"telex/internal/markup"
	"telex/internal/markup/marks"
)

// Dialect writes WhatsApp's own markup (https://faq.whatsapp.com/539178204879377). WhatsApp's markup has no escapes. A
// delimiter, such as *, takes effect only at the edge of a word.
//
//	Markdown                      becomes
//	**bold**, # heading           *bold*
//	*italic*, _italic_            _italic_
//	~~strike~~                    ~strike~
//	`code`                        `code`, without the backticks if the code contains a backtick
//	fenced code, table            ``` around the same lines
//	[text](url), ![alt](url)      text (url) for http, https and mailto; else plain text
//	> quote                       > quote; a quote in a quote becomes a part of the outer quote
//	- item, 1. item               the same; nested items begin with other symbols
//	in**wor**ds, **a * b**        no formatting
//	\*a\*                         *a* with a joiner before it, so that it is not bold
type Dialect struct{}

var _ markup.Dialect = Dialect{}

// Shape returns the symbols of plain text, except that the bullet of a list item is "-", which WhatsApp recognizes.
func (Dialect) Shape() markup.Shape {
	s := markup.Plain{}.Shape()
	s.Bullets = []string{"-", "◦", "▪"}
	return s
}

// Render returns a piece of an answer as one string in WhatsApp's markup.
func (Dialect) Render(p markup.Piece) markup.Rendered {
	return markup.Rendered{Text: marks.Write(grammar{}, withLinkURLs(p))}
}

// Len counts UTF-16 code units. WhatsApp limits a text to a number of "characters", but does not define what a
// character is. Counting UTF-16 code units is safe, because a text never has more characters than UTF-16 code units.
func (Dialect) Len(r markup.Rendered) int { return markup.Units(r.Text) }

// withLinkURLs writes the URL of each link after the link's label, because WhatsApp has no links with labels. If the
// label of a link is the URL itself, withLinkURLs does not write the URL again.
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

// Rules says that WhatsApp's markup has no escapes and no headings.
func (grammar) Rules() marks.Rules {
	return marks.Rules{Bare: true, Mark: mark, Language: noLanguage}
}

// The function mark returns the delimiter of a style, which is the same at the beginning and at the end of the styled
// text.
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

// Escape appends a character of text. If the character could begin a style or a quote, Escape puts an invisible joiner
// before the character, so that WhatsApp shows the character itself.
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

// Code appends a character of code unchanged.
func (grammar) Code(out []byte, _ string, _ int, r rune) []byte { return utf8.AppendRune(out, r) }

// Address appends a URL unchanged, because WhatsApp's apps turn URLs into links.
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

// Link returns "", which means that a link is plain text, because WhatsApp has no links with labels.
func (grammar) Link(string, markup.Format, bool) string { return "" }

// Label returns true. The label of a link may contain any character, because WhatsApp shows the label as plain text.
func (grammar) Label(string, int, bool) bool { return true }

// Fragile reports whether s, which is code or a URL, contains a character that could end a style around s.
func (grammar) Fragile(s string) bool { return strings.ContainsAny(s, "*_~") }
