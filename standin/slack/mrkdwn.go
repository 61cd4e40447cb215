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

// spans cuts mrkdwn into its pieces; joined they are the text again. A "<" that begins
// nothing that the platform knows is text.
// Source: https://docs.slack.dev/messaging/formatting-message-text#advanced
func spans(text string) []span {
	var list []span
	begin := 0
	for i := 0; i < len(text); {
		if text[i] != '<' {
			i++
			continue
		}
		n := controlLength(text[i:])
		if n == 0 {
			i++
			continue
		}
		if i > begin {
			list = append(list, span{raw: text[begin:i]})
		}
		list = append(list, span{raw: text[i : i+n], control: text[i+1 : i+n-1]})
		i += n
		begin = i
	}
	if begin < len(text) {
		list = append(list, span{raw: text[begin:]})
	}
	return list
}

// controlLength is how long the control sequence is that text begins with; 0 for none.
func controlLength(text string) int {
	end := strings.IndexAny(text[1:], "<>\n") + 1
	if end == 0 || text[end] != '>' {
		return 0
	}
	inner := text[1:end]
	target, _, _ := strings.Cut(inner, "|")
	switch {
	case len(target) < 2:
		return 0
	case strings.HasPrefix(target, "@U"), strings.HasPrefix(target, "@W"), strings.HasPrefix(target, "@B"),
		strings.HasPrefix(target, "#C"), strings.HasPrefix(target, "#G"):
		if !idLike(target[1:]) {
			return 0
		}
	case target[0] == '!':
		if !special(target[1:]) {
			return 0
		}
	case strings.HasPrefix(target, "http://"), strings.HasPrefix(target, "https://"),
		strings.HasPrefix(target, "mailto:"), strings.HasPrefix(target, "tel:"), strings.HasPrefix(target, "slack://"):
	default:
		return 0
	}
	return end + 1
}

// special tells whether a name behind "<!" means anything. "<!DOCTYPE html>" is text.
// Source: https://docs.slack.dev/messaging/formatting-message-text#special-mentions
func special(name string) bool {
	switch name {
	case "channel", "here", "everyone", "group":
		return true
	}
	return strings.HasPrefix(name, "subteam^") || strings.HasPrefix(name, "date^")
}

func idLike(id string) bool {
	return strings.TrimFunc(id, func(r rune) bool { return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' }) == ""
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
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c == '<':
			b.WriteString("&lt;")
		case c == '>':
			b.WriteString("&gt;")
		case c == '&' && !entity(text[i:]):
			b.WriteString("&amp;")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func entity(text string) bool {
	return strings.HasPrefix(text, "&amp;") || strings.HasPrefix(text, "&lt;") || strings.HasPrefix(text, "&gt;")
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
