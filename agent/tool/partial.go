package tool

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// partial returns a string argument from JSON that may be incomplete, and reports whether the string is complete. If the
// string is incomplete, partial returns its beginning. partial finds only arguments at the top level of the JSON object.
func partial(arguments, name string) (value string, complete bool) {
	in := json.NewDecoder(strings.NewReader(arguments))
	if token, err := in.Token(); err != nil || token != json.Delim('{') {
		return "", false
	}
	for {
		key, err := in.Token()
		if err != nil {
			return "", false
		}
		begin := in.InputOffset()
		var v any
		switch err = in.Decode(&v); {
		case err != nil && key == name:
			return unfinished(strings.TrimLeft(arguments[begin:], ": \t\r\n")), false
		case err != nil:
			return "", false
		case key == name:
			value, complete = v.(string)
			return value, complete
		}
	}
}

// unfinished decodes a JSON string whose end is missing. unfinished ignores an incomplete escape or character at the end.
func unfinished(quoted string) (text string) {
	const longest = len(`\u00e9`)
	for n := len(quoted); n > max(0, len(quoted)-longest); n-- {
		if utf8.ValidString(quoted[:n]) && json.Unmarshal([]byte(quoted[:n]+`"`), &text) == nil {
			return text
		}
	}
	return ""
}
