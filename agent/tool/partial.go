package tool

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// partial returns a string argument out of arguments that may still be being written, and whether it is complete.
// What it returns of an incomplete one is a prefix of it. It looks at the top level only.
func partial(arguments, name string) (value string, complete bool) {
	depth, key, atKey := 0, "", false
	for i := 0; i < len(arguments); {
		switch c := arguments[i]; c {
		case '{', '[':
			depth++
			atKey = c == '{' && depth == 1
			i++
		case '}', ']':
			depth--
			i++
		case ',':
			atKey = depth == 1
			i++
		case ':':
			atKey = false
			i++
		case '"':
			text, end, closed := quoted(arguments[i:])
			switch {
			case depth == 1 && atKey:
				key = text
			case depth == 1 && key == name:
				return text, closed
			}
			i += end
		default:
			i++
		}
	}
	return "", false
}

// quoted reads a JSON string that s begins with, as far as it goes, and how long it is in s.
func quoted(s string) (text string, length int, closed bool) {
	end, whole := len(s), 1 // whole: up to here no escape is cut
	for i := 1; i < len(s); {
		var size int
		switch {
		case s[i] == '"':
			return unquote(s[:i+1]), i + 1, true
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == 'u':
			size = 6
		case s[i] == '\\':
			size = 2
		default:
			if !utf8.FullRuneInString(s[i:]) {
				return unquote(s[:whole] + `"`), end, false
			}
			_, size = utf8.DecodeRuneInString(s[i:])
		}
		i += size
		if i <= len(s) {
			whole = i
		}
	}
	return unquote(s[:whole] + `"`), end, false
}

// unquote decodes a JSON string; one that can't be is taken as it stands.
func unquote(s string) string {
	var text string
	if json.Unmarshal([]byte(s), &text) != nil {
		return strings.Trim(s, `"`)
	}
	return text
}
