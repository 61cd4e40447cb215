package marks

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"telex/internal/markup"
)

// bare reports whether a format can be written in a Markdown that has no escapes. A link can always be written. For any
// other format, bare returns false if the format's text contains the format's delimiter, or if a word continues across an
// end of the format. bare also returns false for inline code that contains a line break.
func (w *writer) bare(f markup.Format) bool {
	mark := ""
	switch f.Style {
	case markup.Link:
		return true
	case markup.Code:
		mark = "`"
	default:
		mark = w.rules.sign(f.Style)
	}
	content := w.text[f.Start:f.End]
	if strings.Contains(content, mark) || f.Style == markup.Code && strings.Contains(content, "\n") {
		return false
	}
	first, _ := utf8.DecodeRuneInString(content)
	last, _ := utf8.DecodeLastRuneInString(content)
	before, _ := utf8.DecodeLastRuneInString(w.text[:f.Start])
	behind, _ := utf8.DecodeRuneInString(w.text[f.End:])
	return (unicode.IsSpace(first) || !wordy(before)) && (unicode.IsSpace(last) || !wordy(behind))
}

// wordy reports whether a character is part of a word.
func wordy(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
