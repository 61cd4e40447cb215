package telegram

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// parseMarkup converts text in a parse mode to plain text with entities. parseMarkup refuses Telegram's old mode
// "Markdown", because a new client has no reason to use it. Source:
// https://core.telegram.org/bots/api#formatting-options
func parseMarkup(text, mode string) (string, []Entity) {
	switch strings.ToLower(mode) {
	case "", "none":
		return text, nil
	case "html":
		p := htmlParser{source: text}
		return p.parse()
	case "markdownv2":
		p := markdownParser{source: text}
		return p.parse()
	}
	panic(unparsable("unsupported parse_mode"))
}

// unparsable returns the error for a text with invalid markup.
func unparsable(format string, args ...any) *apiError {
	return badRequest("can't parse entities: " + fmt.Sprintf(format, args...))
}

// output collects the plain text and the entities of a parsed text, and counts UTF-16 units.
type output struct {
	text     strings.Builder
	units    int
	entities []Entity
}

func (o *output) rune(r rune) {
	o.text.WriteRune(r)
	o.units += max(1, utf16.RuneLen(r))
}

// next returns the character at pos and the offset of the next character.
func next(text string, pos int) (rune, int) {
	r, n := utf8.DecodeRuneInString(text[pos:])
	return r, pos + n
}

// add adds an entity that begins at the offset start and ends at the end of the text so far. add ignores an empty
// entity.
func (o *output) add(e Entity, start int) {
	if e.Offset, e.Length = start, o.units-start; e.Length > 0 {
		o.entities = append(o.entities, e)
	}
}

// from returns the text from the byte offset start on.
func (o *output) from(start int) string { return o.text.String()[start:] }
