package discord

import (
	"cmp"
	"regexp"
	"strings"

	"telex/platforms/internal/receiving"
)

// signs are what stands in a text for what people see as a name.
// https://docs.discord.com/developers/reference#message-formatting
var signs = regexp.MustCompile(`<(@[!&]?|a?:)([^<>\s]{1,64})>`)

// read returns the text of a message as the person meant it, without the mentions of self, and whether there was one.
// role is the bot's own in that guild. Either may be empty: then nothing is left out for it.
func (m *incoming) read(self, role string) (string, bool) {
	text, end, mentioned := m.Content, 0, false
	var kept receiving.Words
	for _, at := range signs.FindAllStringSubmatchIndex(text, -1) {
		kept.Add(text[end:at[0]])
		end = at[1]
		mark, kind, id := text[at[0]:end], text[at[2]:at[3]], text[at[4]:at[5]]
		if self != "" && id == self && (kind == "@" || kind == "@!") || role != "" && id == role && kind == "@&" {
			kept.Mention()
			mentioned = true
		} else {
			kept.Add(m.nameOf(mark, kind, id))
		}
	}
	kept.Add(text[end:])
	return kept.String(), mentioned
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

// maxName bounds the name of a person. Discord's longest has 32 characters.
const maxName = 100

// name returns what a person is called in a guild, or everywhere, in one line.
func (p *user) name(in *member) string {
	nick := ""
	if in != nil {
		nick = in.Nick
	}
	return cut(strings.Join(strings.Fields(cmp.Or(nick, p.Global, p.Name)), " "), maxName)
}
