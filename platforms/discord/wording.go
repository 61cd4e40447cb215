package discord

import (
	"cmp"
	"regexp"
	"strings"

	"telex/internal/chat"
)

var (
	// signs are what stands in a text for what people see as a name.
	// https://docs.discord.com/developers/reference#message-formatting
	signs = regexp.MustCompile(`<(@[!&]?|a?:)([^<>\s]{1,64})>`)
	// slashed is a command that is typed as text, such as after a mention, where the apps offer none.
	slashed = regexp.MustCompile(`(?s)^/([A-Za-z0-9_-]{1,32})(?:\s+(.*))?$`)
	// opening is what people put behind a name that they begin with.
	opening = regexp.MustCompile(`^[ \t]*[,:]?[ \t]*`)
)

// read returns the text of a message as the person meant it, without the bot's mentions, and whether
// there was one. role is the one that is the bot's own in that guild; empty: none is known.
func (b *Bot) read(m *incoming, role string) (string, bool) {
	self, _ := b.identity()
	text, mentioned := m.Content, false
	var kept strings.Builder
	for {
		at := signs.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		kept.WriteString(text[:at[0]])
		mark, kind, id := text[at[0]:at[1]], text[at[2]:at[3]], text[at[4]:at[5]]
		text = text[at[1]:]
		own := self != "" && id == self && (kind == "@" || kind == "@!") || role != "" && id == role && kind == "@&"
		switch before := kept.String(); {
		case !own:
			kept.WriteString(m.nameOf(mark, kind, id))
		case strings.TrimSpace(before) == "":
			text, mentioned = opening.ReplaceAllString(text, ""), true
		case strings.HasSuffix(before, " "):
			text, mentioned = strings.TrimPrefix(text, " "), true
		default:
			mentioned = true
		}
	}
	kept.WriteString(text)
	return strings.TrimSpace(kept.String()), mentioned
}

// nameOf returns what people see of a mark. Channels and unknown ones stay as they are.
func (m *incoming) nameOf(mark, kind, id string) string {
	switch kind {
	case "@", "@!":
		for i := range m.Mentions {
			if p := &m.Mentions[i]; p.ID == id {
				return "@" + p.name(p.Member)
			}
		}
	case ":", "a:":
		if name, _, ok := strings.Cut(id, ":"); ok && name != "" {
			return ":" + name + ":"
		}
	}
	return mark
}

// name returns what a person is called in a guild, or everywhere.
func (p *user) name(in *member) string {
	nick := ""
	if in != nil {
		nick = in.Nick
	}
	return cmp.Or(nick, p.Global, p.Name)
}

// commanded returns in as a command, if its text is one.
func commanded(in chat.Inbound) chat.Inbound {
	if parts := slashed.FindStringSubmatch(in.Text); parts != nil {
		in.Kind, in.Command, in.Args = chat.Command, strings.ToLower(parts[1]), strings.TrimSpace(parts[2])
	}
	return in
}
