package slack

import (
	"regexp"
	"strings"

	"telex/platforms/internal/receiving"
)

// Slack sends text in its format mrkdwn. A text in mrkdwn may contain control sequences in <…>, and entities for &, <
// and >. telex does not remove the delimiters of styles, as in *bold*, because models understand them.
// https://docs.slack.dev/messaging/formatting-message-text#parsing

// controlToken consists of the target and the label of a control sequence.
type controlToken struct{ target, label string }

// controlSequences matches a control sequence, with its target and the label after a bar.
var controlSequences = regexp.MustCompile(`<([^|>]*)(?:\|([^>]*))?>`)

// mentions reports whether a text mentions the given user.
func mentions(text, user string) bool {
	return user != "" && (strings.Contains(text, "<@"+user+">") || strings.Contains(text, "<@"+user+"|"))
}

// anyMention matches a mention of a person, a group or everybody.
var anyMention = regexp.MustCompile(`<(?:@|!(?:here|channel|everyone|group|subteam\^))`)

// mentionsAnyone reports whether a text mentions somebody.
func mentionsAnyone(text string) bool { return anyMention.MatchString(text) }

// plainText returns a text as people read it, without mentions of the bot, whose user id is self. The function name
// returns the name of a user, or "" if the name is unknown.
func plainText(text, self string, name func(user string) string) string {
	unescape := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
	var kept receiving.Words
	end := 0
	for _, at := range controlSequences.FindAllStringSubmatchIndex(text, -1) {
		kept.Add(unescape.Replace(text[end:at[0]]))
		c := controlToken{target: text[at[2]:at[3]]}
		if at[4] >= 0 {
			c.label = text[at[4]:at[5]]
		}
		if end = at[1]; self != "" && c.target == "@"+self {
			kept.Mention()
		} else {
			kept.Add(unescape.Replace(c.visibleText(name)))
		}
	}
	kept.Add(unescape.Replace(text[end:]))
	return kept.String()
}

// visibleText returns the visible text of a control sequence.
func (c controlToken) visibleText(name func(user string) string) string {
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
			return c.label // the label is that of a date, or of a group, which contains the @
		}
		word, _, _ := strings.Cut(c.target[1:], "^")
		return "@" + word
	case c.label == "", c.label == c.target:
		return strings.TrimPrefix(c.target, "mailto:")
	}
	if bare := withoutScheme(c.target); bare == withoutScheme(c.label) { // the person typed the URL without its scheme
		if strings.Contains(c.target, "://") {
			return c.target
		}
		return bare
	}
	return c.label + " (" + c.target + ")"
}

// withoutScheme returns a URL without its scheme, as people type it.
func withoutScheme(address string) string {
	for _, scheme := range []string{"https://", "http://", "mailto:", "tel:"} {
		if rest, ok := strings.CutPrefix(address, scheme); ok {
			return strings.TrimSuffix(rest, "/")
		}
	}
	return strings.TrimSuffix(address, "/")
}
