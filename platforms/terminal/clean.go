package terminal

import (
	"strings"
	"unicode/utf8"
)

// Clean removes everything from s that could control a terminal. Clean removes the control characters of C0 and C1
// except line breaks, and therefore all escape sequences. Clean also removes characters that change the direction of
// the text, and invalid UTF-8.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if harmful(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// CleanSource is like Clean, but keeps tabs. Use CleanSource for text that is printed as it is, without a dialect.
func CleanSource(s string) string {
	lines := strings.Split(s, "\t")
	for i := range lines {
		lines[i] = Clean(lines[i])
	}
	return strings.Join(lines, "\t")
}

// harmful reports whether r could control a terminal or change the direction of the text. The control characters of C1
// are harmful too, because terminals that don't use UTF-8 interpret their bytes as control characters.
func harmful(r rune) bool {
	switch {
	case r == '\n':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfeff, r == 0x200e, r == 0x200f, r == 0x061c:
		return true
	}
	return false
}

// cleanURL returns url in a form that is safe in an escape sequence, or "" if the URL must not be clickable.
func cleanURL(url string) string {
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok || rest == "" {
		return ""
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto":
	default:
		return ""
	}
	const hex = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(url) {
		if c := url[i]; c > ' ' && c < 0x7f {
			out.WriteByte(c)
		} else {
			out.WriteString("%" + string(hex[c>>4]) + string(hex[c&15]))
		}
	}
	return out.String()
}
