package slack

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// units is the length of a text in UTF-16 units. The platform says "characters"; where
// it may mean code points or UTF-16 units, this takes what is more.
func units(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// cutUnits is the longest beginning of text that has no more than n units.
func cutUnits(text string, n int) string {
	for i, r := range text {
		if n -= utf16.RuneLen(r); n < 0 {
			return text[:i]
		}
	}
	return text
}

// span is a piece of mrkdwn: a control sequence <…>, or text between them.
type span struct {
	raw     string
	control string // what is between < and >, "" for text.
}

// control is a control sequence. A "<" that begins nothing that the platform knows is text, as in "<!DOCTYPE html>".
// Source: https://docs.slack.dev/messaging/formatting-message-text#advanced
var control = regexp.MustCompile(`<(?:(?:@[UWB]|#[CG])[0-9A-Z]*|` +
	`!(?:channel|here|everyone|group|(?:subteam|date)\^[^<>|\n]*)|` + // https://docs.slack.dev/messaging/formatting-message-text#special-mentions
	`(?:https?://|mailto:|tel:|slack://)[^<>|\n]*)(?:\|[^<>\n]*)?>`)

// spans cuts mrkdwn into its pieces; joined they are the text again.
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

// pings is who a control sequence calls: a user id, "!channel", "!here", "!everyone" or
// "!subteam^S…"; "" for nobody.
func (p span) pings() string {
	target, _, _ := strings.Cut(p.control, "|")
	switch {
	case strings.HasPrefix(target, "@"):
		return target[1:]
	case target == "!channel", target == "!here", target == "!everyone", target == "!group", strings.HasPrefix(target, "!subteam^"):
		return target
	}
	return ""
}

// mentions are who a text calls, each once, in order. It does not spare code: the
// platform resolves control sequences before it formats.
func mentions(text string) []string {
	var list []string
	seen := make(map[string]bool)
	for _, p := range spans(text) {
		if who := p.pings(); who != "" && !seen[who] {
			seen[who] = true
			list = append(list, who)
		}
	}
	return list
}

// normalize is a mrkdwn text as the platform stores it and tells it again: what is not
// part of a control sequence or an entity is escaped.
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

// escape writes &, < and > as entities and leaves entities alone.
// Source: https://docs.slack.dev/messaging/formatting-message-text#escaping
func escape(text string) string {
	return strings.NewReplacer("&amp;", "&amp;", "&lt;", "&lt;", "&gt;", "&gt;", "&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// linked is an address that the platform makes a link of, in either kind of markup, and code, where it makes none.
var linked = regexp.MustCompile("(?s)```.*?```|``.+?``|`[^`\n]+`|https?://[^\\s<>|]+[^\\s<>|.,:;!?\"'\\])]")

// addresses are those that a text links to, each once. Sorted.
func addresses(text string) []string {
	list := slices.DeleteFunc(linked.FindAllString(strings.ReplaceAll(text, "](", "] "), -1), func(a string) bool { return a[0] == '`' })
	slices.Sort(list)
	return slices.Compact(list)
}

// shown is what a person reads of a mrkdwn text: names for mentions, labels for links,
// characters for entities. The marks of bold, italic and code stay.
func (s *Server) shown(text string) string {
	var b strings.Builder
	unescape := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
	for _, p := range spans(text) {
		if p.control == "" {
			b.WriteString(unescape.Replace(p.raw))
			continue
		}
		b.WriteString(unescape.Replace(s.label(p.control)))
	}
	return b.String()
}

// label is what is shown of a control sequence.
func (s *Server) label(control string) string {
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
