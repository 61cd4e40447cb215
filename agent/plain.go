package agent

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many marks may stand on one character: no script needs more, and a pile of them
// covers the lines around it.
const maxMarks = 4

// plain returns a text of which a person sees everything: a character that has no shape, moves what is
// around it or stands for nothing is told by its number. It is at most so many bytes long; a text that is
// cut says how many characters are missing.
func plain(s string, most int) string {
	const room = 48 // in bytes, for what is said about a cut
	s = strings.ReplaceAll(validUTF8(s), "\r\n", "\n")
	var b strings.Builder
	read, kept, keptRead := 0, 0, 0 // what a cut keeps of b, and how many characters that is
	before, marks := '\n', 0
	for _, c := range s {
		if b.Len() <= most-room {
			kept, keptRead = b.Len(), read
		}
		marks++
		if !unicode.Is(unicode.M, c) {
			marks = 0
		}
		if marks > maxMarks || !hasShape(c) && !joinsEmoji(before, c) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", c)
		} else {
			b.WriteRune(c)
		}
		if b.Len() > most {
			return fmt.Sprintf("%s… (%d more characters are not shown)", b.String()[:kept], utf8.RuneCountInString(s)-keptRead)
		}
		read++
		before = c
	}
	return b.String()
}

// hasShape reports whether a character is seen where it stands. A line's end is, other white space is only as the
// space between words that every script has.
func hasShape(c rune) bool {
	switch c {
	case '\n', ' ', '\u3000': // the last one is the space of Chinese and Japanese
		return true
	case '\u2800', '\u3164', '\uFFA0', '\u115F', '\u1160', '\u17B4', '\u17B5', '\u034F': // empty letters and symbols
		return false
	}
	return unicode.IsGraphic(c) && !unicode.In(c, unicode.Zs, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// joinsEmoji reports whether a character without a shape only makes the symbol before it look as it does.
func joinsEmoji(before, c rune) bool {
	switch c {
	case '\uFE0F':
		return unicode.In(before, unicode.So, unicode.Sm)
	case '\u200D':
		return unicode.In(before, unicode.So, unicode.Sk) || before == '\uFE0F'
	}
	return false
}
