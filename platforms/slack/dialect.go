package slack

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"telex/internal/markup"
	"telex/internal/markup/marks"
)

// Dialect writes standard Markdown for markdown_text
// (https://docs.slack.dev/reference/block-kit/blocks/markdown-block). Slack reads its own
// control sequences in angle brackets out of it as well, so that there are none in what this
// writes.
//
//	Markdown                      becomes
//	**bold**                      **bold**
//	*italic*, _italic_            *italic*
//	~~strike~~                    ~~strike~~
//	# heading                     # heading
//	`code`, fenced code           the same to the byte, but for three backticks and for control sequences
//	| table |                     the same; of more than 20 columns, the last ones are one
//	[text](url), ![alt](url)      [text](url) for http, https and mailto; else plain text
//	https://example.org           the same, or [https://...](https://...) where marks are near
//	> quote                       > quote; a quote in a quote is part of the outer one
//	- item, 1. item               the same, nested as far as the text of the item above; "2\. item" where a list would begin
//	                              with it, as below code. Tasks, and what is in them, are text behind no-break spaces
//	a line break                  two spaces and a line break
//	< > &                         &lt; &gt; &amp;, in code as they are
//	<!here>, <@U1>                &lt;!here&gt;, in code with a joiner behind <
//	@here, :tada:                 with a joiner in it, in code as they are
type Dialect struct{}

var _ markup.Dialect = Dialect{}

// Shape returns the usual symbols, and asks for the cells of tables and the items of lists.
func (Dialect) Shape() markup.Shape {
	s := markup.Plain{}.Shape()
	s.Extras = markup.Tables | markup.Tasks | markup.Lists
	return s
}

// Render writes the piece as one string.
func (Dialect) Render(p markup.Piece) markup.Rendered {
	return markup.Rendered{Text: marks.Write(grammar{}, p)}
}

// Len counts UTF-16 code units. The limits are in "characters"
// (https://docs.slack.dev/reference/methods/chat.postMessage), and nobody says which; there
// are never more code points.
func (Dialect) Len(r markup.Rendered) int { return markup.Units(r.Text) }

// grammar is the Markdown of markdown_text.
type grammar struct{}

// Rules returns those of CommonMark, with six levels of headings that all look the same.
func (grammar) Rules() marks.Rules {
	return marks.Rules{Headings: 6, CommonMark: true, Lists: true, Language: language, Tables: maxColumns}
}

// controlSequence is what Slack interprets anywhere in a text: mentions of people, channels, groups and everybody, dates, and
// links. Other text in angle brackets, such as <!-- or <xs:element>, is plain text.
// https://docs.slack.dev/messaging/formatting-message-text#advanced
const controlSequence = `<(?:(?:!(?:channel|here|everyone|group)|@[UWB][A-Z0-9]*|#[CG][A-Z0-9]*|` +
	`(?:https?://|slack://|mailto:|tel:)[^\s<>|]*)[|>]|!(?:subteam|date)\^)`

// emojiName is what an emoji can be called. Most names have a letter, so that 10:30:45 has no emoji.
// https://docs.slack.dev/messaging/formatting-message-text#emoji
const emojiName = `:(?:[0-9_+'-]*[a-z][a-z0-9_+'-]*|[+-]1|100|1234):`

var (
	mention    = regexp.MustCompile(`^@(?:channel|here|everyone)`)
	emoji      = regexp.MustCompile(`^` + emojiName)
	control    = regexp.MustCompile(`^` + controlSequence)
	anyControl = regexp.MustCompile(controlSequence)
	language   = regexp.MustCompile(`^[A-Za-z0-9_+.#-]{1,20}$`)
	simple     = regexp.MustCompile(`^https?://[0-9A-Za-z./-]*[0-9A-Za-z/]$`)
)

// Escape appends a character of text. Slack names the characters that a backslash escapes
// (https://docs.slack.dev/reference/block-kit/blocks/markdown-block), and shows the three
// entities as characters without reading them as control sequences
// (https://docs.slack.dev/messaging/formatting-message-text#escaping).
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
	case '@': // not documented to notify anybody, but older parameters make it do so
		if mention.MatchString(at.Rest()) {
			return append(out, "@"+marks.Joiner...)
		}
	case ':':
		if emoji.MatchString(at.Rest()) {
			return append(out, ":"+marks.Joiner...)
		}
		escaped = at.Start() && at.Next() == '-' // aligns a column
	case '.', ')':
		escaped = at.Ordinal()
	}
	if escaped {
		return append(out, '\\', c)
	}
	return append(out, at.Rest()[:at.Size]...)
}

// Code appends a character of code. A backslash or an entity would be shown as it stands
// there (https://spec.commonmark.org/0.31.2/#code-spans), so that a control sequence gets a
// character in it that shows nothing. Everything else is copied out of the code byte for byte.
func (grammar) Code(out []byte, text string, i int, r rune) []byte {
	if r == '<' && control.MatchString(text[i:]) {
		return append(out, "<"+marks.Joiner...)
	}
	return utf8.AppendRune(out, r)
}

// Address finds none: what looks like one is text, and Link says how a link is written.
func (grammar) Address(out []byte, _ string, _, _ int, _ bool) ([]byte, int) { return out, 0 }

// Link returns where a link goes. An address alone between white space is one by itself.
func (grammar) Link(text string, f markup.Format, alone bool) string {
	to := marks.Destination(f.URL, "http", "https", "mailto")
	if to == "" {
		return ""
	}
	label := text[f.Start:f.End]
	if alone && (label == f.URL || f.Open && strings.HasPrefix(f.URL, label)) && simple.MatchString(f.URL) {
		before, _ := utf8.DecodeLastRuneInString(text[:f.Start])
		behind, _ := utf8.DecodeRuneInString(text[f.End:])
		if (f.Start == 0 || unicode.IsSpace(before)) && (f.End == len(text) || unicode.IsSpace(behind)) {
			return ""
		}
	}
	return to
}

// Label reports that a label can hold anything.
func (grammar) Label(string, int, bool) bool { return true }

// Fragile reports that code and addresses end no style.
func (grammar) Fragile(string) bool { return false }
