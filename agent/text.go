package agent

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine returns a text from outside as one line. White space and characters that nobody sees become spaces: a line
// that a model or a server wrote must not pass for another.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(validUTF8(s), unseen), " ")
}

// unseen reports whether a character is white space, or has no shape and may change the text around it.
func unseen(c rune) bool {
	const joinsEmoji = '\u200d'
	return unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Cf, c) && c != joinsEmoji
}

// Clip returns at most so many bytes of a text, in whole characters. The end of a longer text becomes "…".
func Clip(s string, most int) string {
	const mark = "…"
	if len(s) <= most {
		return validUTF8(s)
	}
	whole, _ := cutIncomplete(s[:most-len(mark)])
	return validUTF8(whole) + mark
}

// cutIncomplete parts s before a character whose last bytes may still come.
func cutIncomplete(s string) (whole, rest string) {
	for i := len(s) - 1; i >= max(0, len(s)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return s[:i], s[i:]
			}
			break
		}
	}
	return s, ""
}

// validUTF8 replaces each byte that is not UTF-8. (strings.ToValidUTF8 replaces each run of
// them, which depends on how the text is cut.)
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
