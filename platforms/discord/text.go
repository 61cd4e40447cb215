package discord

import (
	"cmp"
	"regexp"
	"strings"

	"telex/platforms/internal/receiving"
)

// nameMarks matches codes such as <@123>, which refer to a user, a role or an emoji. In place of the code, Discord's
// apps show the name of the user or role, or show the emoji.
// https://docs.discord.com/developers/reference#message-formatting
var nameMarks = regexp.MustCompile(`<(@[!&]?|a?:)([^<>\s]{1,64})>`)

// readText returns the text of a message without mentions of the bot, and whether the text mentions the bot. The
// parameter self is the id of the bot's user, and the parameter role is the id of the bot's own role in the guild. The
// parameters self and role may be empty.
func (m *incoming) readText(self, role string) (string, bool) {
	text, end, mentioned := m.Content, 0, false
	var kept receiving.Words
	for _, at := range nameMarks.FindAllStringSubmatchIndex(text, -1) {
		kept.Add(text[end:at[0]])
		end = at[1]
		mark, kind, id := text[at[0]:end], text[at[2]:at[3]], text[at[4]:at[5]]
		if self != "" && id == self && (kind == "@" || kind == "@!") || role != "" && id == role && kind == "@&" {
			kept.Mention()
			mentioned = true
		} else {
			kept.Add(m.displayNameOf(mark, kind, id))
		}
	}
	kept.Add(text[end:])
	return kept.String(), mentioned
}

// displayNameOf returns the name that people see in place of a code such as <@123>. For an unknown code and for the
// code of a channel, displayNameOf returns the code itself.
func (m *incoming) displayNameOf(mark, kind, id string) string {
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

// maxName limits the name of a person. Discord itself limits a person's name to 32 characters.
const maxName = 100

// The method name returns a person's name in a guild, as one line. If the person has no name in the guild, the method
// returns the person's global name.
func (p *user) name(in *member) string {
	nick := ""
	if in != nil {
		nick = in.Nick
	}
	return truncate(strings.Join(strings.Fields(cmp.Or(nick, p.Global, p.Name)), " "), maxName)
}
