package slack

import (
	"strings"

	"telex/platforms/internal/receiving"
)

// Text from Slack is mrkdwn: control sequences in <…>, and &, < and > as entities. Formatting stays as it is: models know it.
// https://docs.slack.dev/messaging/formatting-message-text#parsing

// token is the target of a control sequence, and its label.
type token struct{ target, label string }

// walk hands the pieces of a text to plain and to sequence, in order.
func walk(text string, plain func(string), sequence func(token)) {
	for {
		begin := strings.IndexByte(text, '<')
		if begin < 0 {
			plain(text)
			return
		}
		length := strings.IndexByte(text[begin:], '>')
		if length < 0 {
			plain(text)
			return
		}
		plain(text[:begin])
		var c token
		c.target, c.label, _ = strings.Cut(text[begin+1:begin+length], "|")
		sequence(c)
		text = text[begin+length+1:]
	}
}

// mentions reports whether a text mentions a user.
func mentions(text, user string) bool {
	found := false
	walk(text, func(string) {}, func(c token) { found = found || user != "" && c.target == "@"+user })
	return found
}

// readable returns a text as a person reads it, without the mentions of self. name returns a user's name; empty: not known.
func readable(text, self string, name func(user string) string) string {
	var kept receiving.Words
	unescape := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
	walk(text,
		func(s string) { kept.Add(unescape.Replace(s)) },
		func(c token) {
			if self != "" && c.target == "@"+self {
				kept.Mention()
			} else {
				kept.Add(unescape.Replace(c.read(name)))
			}
		})
	return kept.String()
}

// read returns the visible text of a control sequence.
func (c token) read(name func(user string) string) string {
	switch {
	case strings.HasPrefix(c.target, "@"):
		if c.label == "" {
			c.label = name(c.target[1:])
		}
		if c.label == "" {
			return c.target
		}
		return "@" + strings.TrimPrefix(c.label, "@")
	case strings.HasPrefix(c.target, "#"):
		if c.label == "" {
			return c.target
		}
		return "#" + strings.TrimPrefix(c.label, "#")
	case strings.HasPrefix(c.target, "!"):
		if c.label != "" {
			return c.label // a date, or a group with its @
		}
		word, _, _ := strings.Cut(c.target[1:], "^")
		return "@" + word
	case c.label == "", c.label == c.target:
		return strings.TrimPrefix(c.target, "mailto:")
	}
	if bare := withoutScheme(c.target); bare == withoutScheme(c.label) { // it was typed without
		if strings.Contains(c.target, "://") {
			return c.target
		}
		return bare
	}
	return c.label + " (" + c.target + ")"
}

// withoutScheme returns an address as people type it.
func withoutScheme(address string) string {
	for _, scheme := range []string{"https://", "http://", "mailto:", "tel:"} {
		if rest, ok := strings.CutPrefix(address, scheme); ok {
			return strings.TrimSuffix(rest, "/")
		}
	}
	return strings.TrimSuffix(address, "/")
}
