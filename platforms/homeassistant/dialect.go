package homeassistant

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"telex/internal/markup"
	"telex/internal/markup/marks"
)

// Markdown writes what Home Assistant's web interface shows: GitHub's Markdown, read by marked, with some HTML
// (https://www.home-assistant.io/integrations/persistent_notification/).
//
//	Markdown                   becomes
//	bold, headings, lists …    the same
//	| table |                  the same
//	![alt](url)                [alt](url): an image would be loaded without a click
//	< > &                      &lt; &gt; &amp;: there is no HTML; in code as they are
//	{{ {% {#                   with a joiner between the characters, in code as well: see literal
type Markdown struct{}

// Text writes plain text, for the actions of notify: what they show is up to the device.
type Text struct{ markup.Plain }

var (
	_ markup.Dialect = Markdown{}
	_ markup.Dialect = Text{}
)

// Shape returns the usual symbols, and asks for the cells of tables and the items of lists.
func (Markdown) Shape() markup.Shape {
	s := markup.Plain{}.Shape()
	s.Extras = markup.Tables | markup.Tasks | markup.Lists
	return s
}

// Render writes the piece as one string.
func (Markdown) Render(p markup.Piece) markup.Rendered {
	return markup.Rendered{Text: escapeTemplates(marks.Write(grammar{}, p))}
}

// Len counts characters.
func (Markdown) Len(r markup.Rendered) int { return utf8.RuneCountInString(r.Text) }

// Render returns the text, with the addresses of links behind their labels.
func (d Text) Render(p markup.Piece) markup.Rendered {
	for _, f := range slices.Backward(p.Formats) {
		to := marks.Destination(f.URL, "http", "https")
		if f.Style == markup.Link && !f.Open && to != "" && p.Text[f.Start:f.End] != f.URL {
			p.Text = p.Text[:f.End] + " (" + to + ")" + p.Text[f.End:]
		}
	}
	r := d.Plain.Render(p)
	r.Text = escapeTemplates(r.Text)
	return r
}

// Len counts bytes: the services that deliver to phones limit those.
func (Text) Len(r markup.Rendered) int { return len(r.Text) }

// escapeTemplates keeps Home Assistant from reading a text as a template. The data of actions accepts templates, which read any state
// and can run for minutes; an invalid one makes the call fail. An invisible character between the two that begin a template
// prevents this. https://www.home-assistant.io/docs/configuration/templating/
func escapeTemplates(text string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(text[i])
		if text[i] == '{' && i+1 < len(text) && strings.IndexByte("{%#", text[i+1]) >= 0 {
			b.WriteString(marks.Joiner)
		}
	}
	return b.String()
}

// grammar is GitHub's Markdown.
type grammar struct{}

// maxColumns is the widest table: none is known to be too wide, but the screen is.
const maxColumns = 20

var language = regexp.MustCompile(`^[A-Za-z0-9_+.#-]{1,20}$`)

// Rules returns those of CommonMark, with tables.
func (grammar) Rules() marks.Rules {
	return marks.Rules{Headings: 6, CommonMark: true, Lists: true, Language: language, Tables: maxColumns}
}

// Escape appends a character of text. https://spec.commonmark.org/0.31.2/#backslash-escapes
func (grammar) Escape(out []byte, at marks.Place) []byte {
	c := at.Text[at.At]
	escaped := false
	switch c {
	case '<':
		return append(out, "&lt;"...)
	case '>':
		return append(out, "&gt;"...)
	case '&':
		return append(out, "&amp;"...)
	case '\\', '*', '`', '[', ']', '~':
		escaped = true
	case '_': // means nothing within a word
		escaped = !at.InWord()
	case '#':
		escaped = at.Start() || at.Heading
	case '-', '+', '=', '|':
		escaped = at.Start()
	case ':':
		escaped = at.Start() && at.Next() == '-' // aligns a column
	case '.', ')':
		escaped = at.Ordinal()
	}
	if escaped {
		return append(out, '\\', c)
	}
	return append(out, at.Rest()[:at.Size]...)
}

// Code appends a character of code, which is shown as it stands there.
func (grammar) Code(out []byte, _ string, _ int, r rune) []byte { return utf8.AppendRune(out, r) }

// Address finds none: what looks like one is text, and Link says how a link is written.
func (grammar) Address(out []byte, _ string, _, _ int, _ bool) ([]byte, int) { return out, 0 }

// Link returns where a link goes.
func (grammar) Link(_ string, f markup.Format, _ bool) string {
	return marks.Destination(f.URL, "http", "https", "mailto")
}

// Label reports that a label can hold anything.
func (grammar) Label(string, int, bool) bool { return true }

// Fragile reports that code and addresses end no style.
func (grammar) Fragile(string) bool { return false }
