package agent

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine puts a text of a model or a server on one line. OneLine replaces white space and invisible characters by spaces, so
// that the text can't imitate other lines.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(validUTF8(s), isInvisible), " ")
}

// isInvisible reports whether a character is white space, or has no shape and may change the text around it.
func isInvisible(c rune) bool {
	const joinsEmoji = '\u200d'
	return unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Cf, c) && c != joinsEmoji
}

// Clip returns a text cut to at most maxBytes bytes, in whole characters. If the text is longer, "…" replaces its end.
func Clip(s string, maxBytes int) string {
	const mark = "…"
	if len(s) <= maxBytes {
		return validUTF8(s)
	}
	whole, _ := cutIncomplete(s[:maxBytes-len(mark)])
	return validUTF8(whole) + mark
}

// cutIncomplete splits s before an incomplete character at its end.
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

// validUTF8 replaces each invalid byte by U+FFFD. strings.ToValidUTF8 is not used: it replaces several invalid bytes in a row
// by one U+FFFD, so its result depends on how the text was cut into pieces.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
