package telegram

import (
	"slices"
	"strings"
	"unicode/utf16"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/platforms/internal/receiving"
)

// wording is a text with its command and its mentions of the bot.
type wording struct {
	text          string // without the bot's mentions, trimmed
	mentioned     bool
	command, args string // the command's name in lower case; empty: no command
	foreign       bool   // a command for another bot
}

// read finds the command and the mentions of the bot in a text. Marks that do not fit the
// text are ignored.
func read(text string, marks []tgbotapi.MessageEntity, self tgbotapi.User) wording {
	units := utf16.Encode([]rune(text))
	var w wording
	var cuts []tgbotapi.MessageEntity
	commandEnd := 0
	for _, m := range marks {
		if m.Offset < 0 || m.Length <= 0 || m.Offset > len(units) || m.Length > len(units)-m.Offset {
			continue
		}
		word := string(utf16.Decode(units[m.Offset : m.Offset+m.Length]))
		switch {
		case m.Type == "bot_command" && m.Offset == 0:
			name, bot, named := strings.Cut(strings.TrimPrefix(word, "/"), "@")
			if named && !strings.EqualFold(bot, self.UserName) {
				return wording{foreign: true}
			}
			w.command, commandEnd = strings.ToLower(name), m.Length
			if named {
				at := slices.Index(units, '@')
				cuts = append(cuts, tgbotapi.MessageEntity{Offset: at, Length: m.Length - at})
			}
		case isMention(m, word, self):
			w.mentioned = true
			cuts = append(cuts, m)
		}
	}
	slices.SortFunc(cuts, func(a, b tgbotapi.MessageEntity) int { return a.Offset - b.Offset })
	w.text = leaveOut(units, cuts, 0)
	if w.command != "" {
		w.args = leaveOut(units, cuts, commandEnd)
	}
	return w
}

// isMention reports whether a mark, which covers word, means the bot: by its username, or by
// its id where the client wrote its name.
func isMention(m tgbotapi.MessageEntity, word string, self tgbotapi.User) bool {
	switch m.Type {
	case "mention":
		return strings.EqualFold(word, "@"+self.UserName)
	case "text_mention":
		return isSelf(m.User, self)
	}
	return false
}

// leaveOut returns the units from a place on, less the cuts, which are in order.
func leaveOut(units []uint16, cuts []tgbotapi.MessageEntity, from int) string {
	var kept receiving.Words
	for _, c := range cuts {
		if c.Offset < from {
			continue
		}
		kept.Add(string(utf16.Decode(units[from:c.Offset])))
		kept.Mention()
		from = c.Offset + c.Length
	}
	kept.Add(string(utf16.Decode(units[min(from, len(units)):])))
	return kept.String()
}
