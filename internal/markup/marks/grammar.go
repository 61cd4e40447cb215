package marks

import (
	"regexp"
	"strings"

	"telex/internal/markup"
)

// Joiner is U+2060 WORD JOINER. U+2060 is invisible, and platforms treat it neither as white space nor as punctuation.
// A Joiner separates two characters that would form a delimiter without it.
const Joiner = "\u2060"

// Grammar describes a platform's Markdown. The methods of a Grammar have no side effects. If a method has the parameter
// out, it appends to out and returns the result.
//
// What a method has returned must stay valid when text is appended to the piece. So a method may examine all text
// before the current character. After this character, a method may examine only the rest of the current word.
type Grammar interface {
	// Rules returns the rules for the structure of the platform's Markdown.
	Rules() Rules
	// Escape appends the character at a place, escaped so that the platform shows the character itself.
	Escape(out []byte, at Place) []byte
	// Code appends the character r at text[i:], which is in inline code or a code block.
	Code(out []byte, text string, i int, r rune) []byte
	// Address appends the URL at text[i:] if the platform turns it into a link. Address returns the URL's length in the
	// text, or 0. The URL must end at or before end. At the offset end, the surrounding format ends, or, if opens is true,
	// another format begins.
	Address(out []byte, text string, i, end int, opens bool) (_ []byte, n int)
	// Link returns what to write between the parentheses after a link's label, or "" if the link should be plain text. The
	// parameter f is the format of the link: its Start and End delimit the label in text. If alone is true, no other
	// format covers the link.
	Link(text string, f markup.Format, alone bool) string
	// Label reports whether the label of a link may contain the character at text[i:]. If first is true, this character is
	// the first one of the label.
	Label(text string, i int, first bool) bool
	// Fragile reports whether s, which is inline code or a URL, would end a bold, italic or strikethrough style
	// around it too early.
	Fragile(s string) bool
}

// Rules describe the structure of a platform's Markdown.
type Rules struct {
	// Headings is the number of supported levels of headings. Headings of deeper levels become bold text.
	Headings int
	// CommonMark means that the platform follows https://spec.commonmark.org. A platform that follows CommonMark ignores
	// some delimiters next to punctuation, shows a single line break as a space, adds a line directly below a quote to the
	// quote, and drops spaces at the start of a line. On a platform that does not follow CommonMark, a delimiter counts
	// anywhere, and the platform shows lines unchanged.
	CommonMark bool
	// Tables is the maximum number of columns in a table (https://github.github.com/gfm/#tables-extension-). If a table
	// has more columns, their text is written into the last column. 0 means that the platform has no tables: a table is
	// then written as code.
	Tables int
	// Lists means that the platform supports lists as CommonMark or Discord defines them. On other platforms, list markers
	// are written as text.
	Lists bool
	// Mark returns the platform's delimiter for bold, italic or strikethrough text. If Mark is nil, Markdown's delimiters
	// are used.
	Mark func(markup.Style) string
	// Bare means that the platform has no escapes, recognizes delimiters only at the edges of words, and encloses inline
	// code in single backticks. Formats that can't be written under the rules of Bare are left out.
	Bare bool
	// Language matches the language names that may follow the fence of a code block; nil: any name.
	Language *regexp.Regexp
}

// Place is the position of a character in a text.
type Place struct {
	Text    string
	At      int  // offset of this character in Text
	Size    int  // size of this character in bytes
	Line    int  // offset of the first character of this line that is not white space
	Heading bool // the character is in a heading of a supported level
	Label   bool // the character is in the label of a link; see Grammar.Label
}

// Rest returns the text from the character to the end.
func (p Place) Rest() string { return p.Text[p.At:] }

// InWord reports whether the character is between two ASCII letters or digits.
func (p Place) InWord() bool { return isWord(p.Prev()) && isWord(p.Next()) }

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Start reports whether the character is the first one of its line, apart from white space.
func (p Place) Start() bool { return p.At <= p.Line }

// Ordinal reports whether the character ends the number of a list item, like the full stop in "1.".
func (p Place) Ordinal() bool {
	switch p.Next() {
	case 0, ' ', '\t', '\n':
		return p.At > p.Line && strings.Trim(p.Text[p.Line:p.At], "0123456789") == ""
	}
	return false
}

// Next returns the byte after the character, or 0 at the end of the text.
func (p Place) Next() byte {
	if n := p.At + p.Size; n < len(p.Text) {
		return p.Text[n]
	}
	return 0
}

// Prev returns the byte before the character, or 0 at the start of the text.
func (p Place) Prev() byte {
	if p.At > 0 {
		return p.Text[p.At-1]
	}
	return 0
}
