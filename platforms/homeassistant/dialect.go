package homeassistant

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"telex/internal/markup"
	"telex/internal/markup/marks"
)

// Markdown writes the Markdown of Home Assistant's web interface, which is GitHub's Markdown as the JavaScript library
// marked parses it, with some HTML (https://www.home-assistant.io/integrations/persistent_notification/).
//
//	Markdown                   becomes
//	bold, headings, lists …    the same
//	| table |                  the same
//	![alt](url)                [alt](url): an image would be loaded without a click
//	< > &                      &lt; &gt; &amp;, so that the text contains no HTML; unchanged in code
//	{{ {% {#                   with a joiner between the characters, also in code: see escapeTemplates
type Markdown struct{}

// Text is the dialect of notify actions. Text writes plain text, because each device shows formatted text differently.
type Text struct{ markup.Plain }

var (
	_ markup.Dialect = Markdown{}
	_ markup.Dialect = Text{}
)

// Shape returns the same symbols as for plain text. In addition, Shape enables tables, tasks and lists, because Home
// Assistant can show them.
func (Markdown) Shape() markup.Shape {
	s := markup.Plain{}.Shape()
	s.Extras = markup.Tables | markup.Tasks | markup.Lists
	return s
}

// Render returns a piece of an answer as one string in Markdown.
func (Markdown) Render(p markup.Piece) markup.Rendered {
	return markup.Rendered{Text: escapeTemplates(marks.Write(grammar{}, p))}
}

// Len counts characters.
func (Markdown) Len(r markup.Rendered) int { return utf8.RuneCountInString(r.Text) }

// Render returns a piece of an answer as plain text, with the URL of each link after the link's label.
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

// Len counts bytes, because the services that deliver notifications to phones limit the number of bytes.
func (Text) Len(r markup.Rendered) int { return len(r.Text) }

// escapeTemplates prevents Home Assistant from evaluating a text as a template: it inserts an invisible character
// between the two characters that begin a template, such as {{. Home Assistant evaluates templates in the data of
// actions. A template in a model's answer could read the state of any entity and run for minutes, and an invalid
// template would make the call fail. https://www.home-assistant.io/docs/configuration/templating/
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

// grammar describes GitHub's Markdown.
type grammar struct{}

// maxColumns is the maximum number of columns in a table. Home Assistant has no limit for the columns of a table, but
// screens are narrow.
const maxColumns = 20

var language = regexp.MustCompile(`^[A-Za-z0-9_+.#-]{1,20}$`)

// Rules returns the rules of CommonMark, with tables.
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
	case '_': // an underscore inside a word has no meaning in Markdown
		escaped = !at.InWord()
	case '#':
		escaped = at.Start() || at.Heading
	case '-', '+', '=', '|':
		escaped = at.Start()
	case ':':
		escaped = at.Start() && at.Next() == '-' // at the start of a line, ":-" would align a table column
	case '.', ')':
		escaped = at.Ordinal()
	}
	if escaped {
		return append(out, '\\', c)
	}
	return append(out, at.Rest()[:at.Size]...)
}

// Code appends a character of code, unchanged.
func (grammar) Code(out []byte, _ string, _ int, r rune) []byte { return utf8.AppendRune(out, r) }

// Address never handles a URL, because Link decides how URLs are written.
func (grammar) Address(out []byte, _ string, _, _ int, _ bool) ([]byte, int) { return out, 0 }

// Link returns the URL of a link, or "" if the text must not become a link.
func (grammar) Link(_ string, f markup.Format, _ bool) string {
	return marks.Destination(f.URL, "http", "https", "mailto")
}

// Label returns true, because the label of a link can contain any character.
func (grammar) Label(string, int, bool) bool { return true }

// Fragile returns false, because in GitHub's Markdown, code and URLs never end a style such as bold.
func (grammar) Fragile(string) bool { return false }
