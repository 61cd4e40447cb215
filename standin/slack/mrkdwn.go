package slack

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// units returns the length of a text in UTF-16 units. Slack's documentation says "characters", which may mean code
// points or UTF-16 units. The stand-in assumes that the limit counts UTF-16 units, because this assumption is the
// stricter one.
func units(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// cutUnits returns the longest prefix of text with at most n units.
func cutUnits(text string, n int) string {
	for i, r := range text {
		if n -= utf16.RuneLen(r); n < 0 {
			return text[:i]
		}
	}
	return text
}

// span is a piece of mrkdwn: a control sequence <…>, or the text between two control sequences.
type span struct {
	raw     string
	control string // the text between < and >; "" if the piece is text
}

// control matches control sequences. A "<" that does not begin a control sequence is text, as in "<!DOCTYPE html>".
// Source: https://docs.slack.dev/messaging/formatting-message-text#advanced
var control = regexp.MustCompile(`<(?:(?:@[UWB]|#[CG])[0-9A-Z]*|` +
	`!(?:channel|here|everyone|group|(?:subteam|date)\^[^<>|\n]*)|` + // https://docs.slack.dev/messaging/formatting-message-text#special-mentions
	`(?:https?://|mailto:|tel:|slack://)[^<>|\n]*)(?:\|[^<>\n]*)?>`)

// spans splits mrkdwn into its pieces. The joined pieces are equal to the text.
func spans(text string) []span {
	var list []span
	begin := 0
	for _, at := range control.FindAllStringIndex(text, -1) {
		if at[0] > begin {
			list = append(list, span{raw: text[begin:at[0]]})
		}
		list = append(list, span{raw: text[at[0]:at[1]], control: text[at[0]+1 : at[1]-1]})
		begin = at[1]
	}
	if begin < len(text) {
		list = append(list, span{raw: text[begin:]})
	}
	return list
}

// mentioned returns the user or group that a control sequence mentions: a user id, "!channel", "!here", "!everyone" or
// "!subteam^S…". For other control sequences, mentioned returns "".
func (p span) mentioned() string {
	target, _, _ := strings.Cut(p.control, "|")
	switch {
	case strings.HasPrefix(target, "@"):
		return target[1:]
	case target == "!channel", target == "!here", target == "!everyone", target == "!group", strings.HasPrefix(target, "!subteam^"):
		return target
	}
	return ""
}

// mentions returns the users and groups that a text mentions, in order and without duplicates. mentions also counts
// mentions in code, because Slack resolves control sequences before it formats the text.
func mentions(text string) []string {
	var list []string
	seen := make(map[string]bool)
	for _, p := range spans(text) {
		if who := p.mentioned(); who != "" && !seen[who] {
			seen[who] = true
			list = append(list, who)
		}
	}
	return list
}

// normalize returns a mrkdwn text in the form in which Slack stores it: &, < and > are escaped outside of control
// sequences and entities.
func normalize(text string) string {
	var b strings.Builder
	for _, p := range spans(text) {
		if p.control != "" {
			b.WriteString(p.raw)
			continue
		}
		b.WriteString(escape(p.raw))
	}
	return b.String()
}

// escape replaces &, < and > by entities and keeps existing entities. Source:
// https://docs.slack.dev/messaging/formatting-message-text#escaping
func escape(text string) string {
	return strings.NewReplacer("&amp;", "&amp;", "&lt;", "&lt;", "&gt;", "&gt;", "&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// linkPattern matches URLs that Slack turns into links, in mrkdwn and in Markdown. linkPattern also matches whole
// pieces of code, so that it finds no URLs inside code, which Slack does not turn into links.
var linkPattern = regexp.MustCompile("(?s)```.*?```|``.+?``|`[^`\n]+`|https?://[^\\s<>|]+[^\\s<>|.,:;!?\"'\\])]")

// linkedURLs returns the URLs that a text links to, sorted and without duplicates.
func linkedURLs(text string) []string {
	list := slices.DeleteFunc(linkPattern.FindAllString(strings.ReplaceAll(text, "](", "] "), -1), func(a string) bool { return a[0] == '`' })
	slices.Sort(list)
	return slices.Compact(list)
}

// shownText returns a mrkdwn text as a person reads it, with names in place of mentions, labels in place of links, and
// characters in place of entities. The delimiters of bold, italic and code stay in the text.
func (s *Server) shownText(text string) string {
	var b strings.Builder
	unescape := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
	for _, p := range spans(text) {
		if p.control == "" {
			b.WriteString(unescape.Replace(p.raw))
			continue
		}
		b.WriteString(unescape.Replace(s.shownLabel(p.control)))
	}
	return b.String()
}

// shownLabel returns the visible text of a control sequence.
func (s *Server) shownLabel(control string) string {
	target, label, labelled := strings.Cut(control, "|")
	switch {
	case strings.HasPrefix(target, "@"):
		if u, ok := s.users[target[1:]]; ok {
			return "@" + u.Name
		}
		return target
	case strings.HasPrefix(target, "#"):
		if c := s.channels[target[1:]]; c != nil {
			return "#" + c.info.Name
		}
		return target
	case strings.HasPrefix(target, "!"):
		if labelled {
			return label
		}
		return "@" + target[1:]
	case labelled:
		return label
	}
	return target
}
