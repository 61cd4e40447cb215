package slack

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"telex/internal/markup"
	"telex/internal/markup/marks"
)

// Dialect writes standard Markdown for Slack's markdown blocks
// (https://docs.slack.dev/reference/block-kit/blocks/markdown-block). In markdown blocks, Slack also interprets its own
// control sequences, which are in angle brackets. Because Slack interprets control sequences, Dialect never writes a
// control sequence.
//
//	Markdown                      becomes
//	**bold**                      **bold**
//	*italic*, _italic_            *italic*
//	~~strike~~                    ~~strike~~
//	# heading                     # heading
//	`code`, fenced code           the same byte for byte, but with a joiner in three backticks and in control sequences
//	| table |                     the same; beyond 20 columns, the last ones are joined
//	[text](url), ![alt](url)      [text](url) for http, https and mailto; else plain text
//	https://example.org           the same, or [https://...](https://...) if it touches other characters or contains delimiters
//	> quote                       > quote; a quote in a quote becomes a part of the outer quote
//	- item, 1. item               the same, nested as far as the text of the item above; "2\. item" where a new list would
//	                              begin with 2, such as below code. Tasks become text after no-break spaces
//	a line break                  two spaces and a line break
//	< > &                         &lt; &gt; &amp;, unchanged in code
//	<!here>, <@U1>                &lt;!here&gt;, in code with a joiner after <
//	@here, :tada:                 with a joiner in it, unchanged in code
type Dialect struct{}

var _ markup.Dialect = Dialect{}

// Shape returns the symbols of markup.Plain, and enables tables, tasks and lists.
func (Dialect) Shape() markup.Shape {
	s := markup.Plain{}.Shape()
	s.Extras = markup.Tables | markup.Tasks | markup.Lists
	return s
}

// Render returns a piece of an answer as one string of Markdown.
func (Dialect) Render(p markup.Piece) markup.Rendered {
	return markup.Rendered{Text: marks.Write(grammar{}, p)}
}

// Len counts UTF-16 code units. Slack states its limits in "characters"
// (https://docs.slack.dev/reference/methods/chat.postMessage) but does not define the term. Counting UTF-16 code
// units is safe, because a text never has fewer code units than code points.
func (Dialect) Len(r markup.Rendered) int { return markup.Units(r.Text) }

// grammar describes the Markdown of Slack's markdown blocks.
type grammar struct{}

// Rules returns the rules of CommonMark, with six levels of headings that all look the same.
func (grammar) Rules() marks.Rules {
	return marks.Rules{Headings: 6, CommonMark: true, Lists: true, Language: language, Tables: maxColumns}
}

// controlSequence matches the sequences that Slack interprets anywhere in a text: mentions of people, channels, groups
// and everybody, dates, and links. To Slack, any other text in angle brackets, such as <!-- or <xs:element>, is plain
// text. https://docs.slack.dev/messaging/formatting-message-text#advanced
const controlSequence = `<(?:(?:!(?:channel|here|everyone|group)|@[UWB][A-Z0-9]*|#[CG][A-Z0-9]*|` +
	`(?:https?://|slack://|mailto:|tel:)[^\s<>|]*)[|>]|!(?:subteam|date)\^)`

// emojiName matches the name of an emoji. Most names contain a letter, so 10:30:45 does not match.
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

// Escape appends a character of the text to out. If Slack would interpret the character as markup, Escape escapes the
// character. Slack documents which characters a backslash escapes
// (https://docs.slack.dev/reference/block-kit/blocks/markdown-block). Slack shows the entities &lt;, &gt; and &amp; as
// characters, and never as a part of a control sequence
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
	case '_': // an underscore has no meaning inside a word
		escaped = !at.InWord()
	case '#':
		escaped = at.Start() || at.Heading
	case '-', '+', '=', '|':
		escaped = at.Start()
	case '@': // @here notifies people in older text formats, and perhaps in markdown blocks too
		if mention.MatchString(at.Rest()) {
			return append(out, "@"+marks.Joiner...)
		}
	case ':':
		if emoji.MatchString(at.Rest()) {
			return append(out, ":"+marks.Joiner...)
		}
		escaped = at.Start() && at.Next() == '-' // at the start of a line, ":-" could align a table column
	case '.', ')':
		escaped = at.Ordinal()
	}
	if escaped {
		return append(out, '\\', c)
	}
	return append(out, at.Rest()[:at.Size]...)
}

// Code appends a character of code. Backslashes and entities would be visible in code
// (https://spec.commonmark.org/0.31.2/#code-spans), so Code inserts an invisible character into each control sequence
// instead. Apart from control sequences, Code does not change any byte.
func (grammar) Code(out []byte, text string, i int, r rune) []byte {
	if r == '<' && control.MatchString(text[i:]) {
		return append(out, "<"+marks.Joiner...)
	}
	return utf8.AppendRune(out, r)
}

// Address finds no URLs, because Link decides how URLs are written.
func (grammar) Address(out []byte, _ string, _, _ int, _ bool) ([]byte, int) { return out, 0 }

// Link returns the target of a link, or "" if the link needs no markup. A simple URL between white space needs no
// markup, because Slack itself turns the URL into a link.
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

// Label returns true, because the label of a link can contain any character.
func (grammar) Label(string, int, bool) bool { return true }

// Fragile returns false, because in Slack's markdown blocks, code and URLs never end a style such as bold.
func (grammar) Fragile(string) bool { return false }
