package slack

import (
	"regexp"
	"strings"

	"telex/platforms/internal/receiving"
)

// Text from Slack is mrkdwn: control sequences in <…>, and &, < and > as entities. Formatting stays as it is: models know it.
// https://docs.slack.dev/messaging/formatting-message-text#parsing

// token is the target of a control sequence, and its label.
type token struct{ target, label string }

// sequence is a control sequence: its target, and its label behind a bar.
var sequence = regexp.MustCompile(`<([^|>]*)(?:\|([^>]*))?>`)

// mentions reports whether a text mentions a user.
func mentions(text, user string) bool {
	return user != "" && (strings.Contains(text, "<@"+user+">") || strings.Contains(text, "<@"+user+"|"))
}

// anyone is a mention of a person, a group or everybody.
var anyone = regexp.MustCompile(`<(?:@|!(?:here|channel|everyone|group|subteam\^))`)

// mentionsAnyone reports whether a text mentions somebody.
func mentionsAnyone(text string) bool { return anyone.MatchString(text) }

// readable returns a text as a person reads it, without the mentions of self. name returns a user's name; empty: not known.
func readable(text, self string, name func(user string) string) string {
	unescape := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
	var kept receiving.Words
	end := 0
	for _, at := range sequence.FindAllStringSubmatchIndex(text, -1) {
		kept.Add(unescape.Replace(text[end:at[0]]))
		c := token{target: text[at[2]:at[3]]}
		if at[4] >= 0 {
			c.label = text[at[4]:at[5]]
		}
		if end = at[1]; self != "" && c.target == "@"+self {
			kept.Mention()
		} else {
			kept.Add(unescape.Replace(c.read(name)))
		}
	}
	kept.Add(unescape.Replace(text[end:]))
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
