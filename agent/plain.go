package agent

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxCombining is how many combining marks one character may have. No script needs more, and a character with many combining
// marks would cover the neighbouring lines.
const maxCombining = 4

// plain returns a text without hidden characters. A character that is invisible, or that moves the text around it, is
// replaced by its number, such as ⟨U+200B⟩. If the text exceeds maxBytes, plain cuts it and adds how many characters are
// missing.
func plain(s string, maxBytes int) string {
	const room = 48 // in bytes, for the note about missing characters
	s = strings.ReplaceAll(validUTF8(s), "\r\n", "\n")
	var b strings.Builder
	read, kept, keptRead := 0, 0, 0 // characters read; if the text is cut: bytes of b to keep, and characters in them
	before, marks := '\n', 0
	for _, c := range s {
		if b.Len() <= maxBytes-room {
			kept, keptRead = b.Len(), read
		}
		marks++
		if !unicode.Is(unicode.M, c) {
			marks = 0
		}
		if marks > maxCombining || !hasShape(c) && !joinsEmoji(before, c) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", c)
		} else {
			b.WriteRune(c)
		}
		if b.Len() > maxBytes {
			return fmt.Sprintf("%s… (%d more characters are not shown)", b.String()[:kept], utf8.RuneCountInString(s)-keptRead)
		}
		read++
		before = c
	}
	return b.String()
}

// hasShape reports whether a person can see a character. White space counts as visible only if it is a line end or an
// ordinary space.
func hasShape(c rune) bool {
	switch c {
	case '\n', ' ', '\u3000': // the last one is the space of Chinese and Japanese
		return true
	case '\u2800', '\u3164', '\uFFA0', '\u115F', '\u1160', '\u17B4', '\u17B5', '\u034F': // letters and symbols that look empty
		return false
	}
	return unicode.IsGraphic(c) && !unicode.In(c, unicode.Zs, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// joinsEmoji reports whether c is an invisible character that only changes the look of the symbol before it.
func joinsEmoji(before, c rune) bool {
	switch c {
	case '\uFE0F':
		return unicode.In(before, unicode.So, unicode.Sm)
	case '\u200D':
		return unicode.In(before, unicode.So, unicode.Sk) || before == '\uFE0F'
	}
	return false
}
