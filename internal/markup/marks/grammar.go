package marks

import (
	"regexp"
	"strings"

	"telex/internal/markup"
)

// Joiner is U+2060 WORD JOINER. It is invisible, neither white space nor punctuation, and separates two
// characters that would otherwise form a mark.
const Joiner = "\u2060"

// Grammar is a platform's Markdown. Its methods append to out and return it; they are pure.
//
// A decision must stay valid when text is appended to the piece: a method may examine all text before the place,
// but after it only the rest of the word.
type Grammar interface {
	// Rules returns the structural rules.
	Rules() Rules
	// Escape appends the character at the place, escaped so that it is shown literally.
	Escape(out []byte, at Place) []byte
	// Code appends the character r of inline code or a code block, at text[i:].
	Code(out []byte, text string, i int, r rune) []byte
	// Address appends the URL at text[i:] if the platform links it by itself, and returns its length in the
	// text, or 0. It must end at or before end, where the surrounding format ends or another one opens.
	Address(out []byte, text string, i, end int, opens bool) (_ []byte, n int)
	// Link returns what is written in the brackets behind the label of a link, or "" if only
	// the label is written. The link is the format f of the text; alone says that it is in no
	// other style.
	Link(text string, f markup.Format, alone bool) string
	// Label reports whether the character at text[i:] can stand in the label of a link, and
	// be the first in it.
	Label(text string, i int, first bool) bool
	// Fragile reports whether code or an address ends the bold, italic or strikethrough style
	// around it too early.
	Fragile(s string) bool
}

// Rules describe the structure of a platform's Markdown.
type Rules struct {
	// Headings is the deepest level of headings; deeper ones are bold.
	Headings int
	// CommonMark says that the platform follows https://spec.commonmark.org: a mark next to
	// punctuation may not count, a line break is a space, a line below a quote belongs to it,
	// and spaces at the start of a line are not shown. Else a mark counts wherever it stands,
	// and lines stay as they are.
	CommonMark bool
	// Tables is how many columns a table of https://github.github.com/gfm/#tables-extension- may have. The cells of
	// further ones stand in the last. 0: there are no tables, and what is laid out in columns is code.
	Tables int
	// Lists says that the platform has lists, those of CommonMark or of Discord; else their marks are text.
	Lists bool
	// Mark returns what begins and ends bold, italic and strikethrough text; nil: the marks of Markdown.
	Mark func(markup.Style) string
	// Bare says that nothing can be escaped and that marks count only at the edges of words. Code is between two backticks.
	// Formatting that can't be written so is left out.
	Bare bool
	// Language is what a language may be called behind the fence of a code block; nil: anything.
	Language *regexp.Regexp
}

// Place is where a character stands.
type Place struct {
	Text    string
	At      int  // offset of the character
	Size    int  // bytes of it
	Line    int  // offset of the first character of its line that is no white space
	Heading bool // in a heading that is written as one
	Label   bool // in the label of a link, see Grammar.Label
}

// Rest returns the text from the character on.
func (p Place) Rest() string { return p.Text[p.At:] }

// InWord reports whether a letter or digit of ASCII stands on both sides of the character.
func (p Place) InWord() bool { return isWord(p.Prev()) && isWord(p.Next()) }

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Start reports whether only white space and marks precede the character in its line.
func (p Place) Start() bool { return p.At <= p.Line }

// Ordinal reports whether the character ends the number of a list item, as a full stop may.
func (p Place) Ordinal() bool {
	switch p.Next() {
	case 0, ' ', '\t', '\n':
		return p.At > p.Line && strings.Trim(p.Text[p.Line:p.At], "0123456789") == ""
	}
	return false
}

// Next returns the byte behind the character, or 0 at the end of the text.
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
