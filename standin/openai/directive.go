package openai

import (
	"fmt"
	"strconv"
	"strings"
)

// directiveOpen begins a directive in a message; "}}" ends it.
const directiveOpen = "{{standin"

// setting is one key=value in a directive or a rule. value is empty if the setting consists only of a key.
type setting struct{ key, value string }

// cutDirectives removes the directives from a message. cutDirectives returns the text for the model and the settings in
// their order. cutDirectives also removes white space around a directive, so that "{{standin rate=5}} say: x" becomes
// the message "say: x".
func cutDirectives(message string) (text string, settings []setting, err error) {
	text = message
	from := 0
	for {
		at := strings.Index(text[from:], directiveOpen)
		if at < 0 {
			return text, settings, nil
		}
		at += from
		rest := text[at+len(directiveOpen):]
		if rest != "" && rest[0] != ' ' && rest[0] != '\n' && rest[0] != '\t' && !strings.HasPrefix(rest, "}}") {
			from = at + len(directiveOpen) // not a directive, but a longer word such as "{{standings"
			continue
		}
		found, tail, closed, err := scanSettings(rest)
		switch {
		case err != nil:
			return message, nil, err
		case !closed:
			return message, nil, fmt.Errorf("directive at byte %d: no closing }}", at)
		}
		settings = append(settings, found...)
		text, from = join(text[:at], tail)
	}
}

// join joins the texts before and after a removed directive. join returns the offset at which the search for the next
// directive continues.
func join(head, tail string) (text string, from int) {
	switch {
	case strings.TrimSpace(head) == "":
		return strings.TrimLeft(tail, " \t\n"), 0
	case strings.TrimSpace(tail) == "":
		head = strings.TrimRight(head, " \t\n")
		return head, len(head)
	case strings.HasSuffix(head, " ") || strings.HasSuffix(head, "\n"):
		return head + strings.TrimPrefix(tail, " "), len(head)
	default:
		return head + tail, len(head)
	}
}

// parseSettings parses settings outside of a directive, such as those in the Do of a Rule.
func parseSettings(text string) ([]setting, error) {
	settings, _, closed, err := scanSettings(text)
	if err == nil && closed {
		return nil, fmt.Errorf("settings %q: }} outside of quotes", text)
	}
	return settings, err
}

// scanSettings parses `key`, `key=value` and `key="quoted \" value"`, separated by white space, up to "}}" or the end of
// the text. Quoted values follow Go's rules for string literals.
func scanSettings(text string) (settings []setting, tail string, closed bool, err error) {
	for {
		text = strings.TrimLeft(text, " \t\n\r")
		if text == "" {
			return settings, "", false, nil
		}
		if after, ok := strings.CutPrefix(text, "}}"); ok {
			return settings, after, true, nil
		}
		n := strings.IndexFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' })
		if n < 0 {
			n = len(text)
		}
		if n == 0 {
			return nil, "", false, fmt.Errorf("directive: want a key at %q", clip(text, 20))
		}
		s := setting{key: text[:n]}
		text = text[n:]
		if after, ok := strings.CutPrefix(text, "="); ok {
			if s.value, text, err = scanValue(after); err != nil {
				return nil, "", false, fmt.Errorf("directive: value of %s: %w", s.key, err)
			}
		}
		if text != "" && !strings.ContainsRune(" \t\n\r", rune(text[0])) && !strings.HasPrefix(text, "}}") {
			return nil, "", false, fmt.Errorf("directive: want white space after %s at %q", s.key, clip(text, 20))
		}
		settings = append(settings, s)
	}
}

// scanValue reads one value. The value is quoted, or ends before white space or "}}".
func scanValue(text string) (value, rest string, err error) {
	if strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "`") {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", "", fmt.Errorf("unclosed or bad quotes at %q", clip(text, 20))
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return "", "", fmt.Errorf("unquote %s: %w", quoted, err)
		}
		return value, text[len(quoted):], nil
	}
	n := strings.IndexAny(text, " \t\n\r")
	if n < 0 {
		n = len(text)
	}
	if brace := strings.Index(text[:n], "}}"); brace >= 0 {
		n = brace
	}
	if n == 0 {
		return "", "", fmt.Errorf("empty value (write \"\" for an empty text)")
	}
	return text[:n], text[n:], nil
}
