package telegram

import (
	"slices"
	"strings"
	"unicode/utf16"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/platforms/internal/receiving"
)

// parsedText is the text of a message, and the command and the mentions that the text contains.
type parsedText struct {
	text           string // the text without mentions of the bot, and without white space at both ends
	mentioned      bool
	mentionsOthers bool   // the text mentions somebody else, but not the bot
	command, args  string // the command's name in lower case; empty: the text is not a command for this bot
	forOtherBot    bool   // the text is a command for another bot
}

// parseText finds the command and the mentions of the bot in a text. parseText ignores entities that extend beyond the
// end of the text.
func parseText(text string, entities []tgbotapi.MessageEntity, self tgbotapi.User) parsedText {
	units := utf16.Encode([]rune(text))
	piece := func(from, to int) string { return string(utf16.Decode(units[from:to])) }
	var w parsedText
	var all, args receiving.Words // all collects the whole text, and args the text after the command
	end := 0                      // offset up to which the text has been parsed
	byPlace := func(a, b tgbotapi.MessageEntity) int { return a.Offset - b.Offset }
	for _, m := range slices.SortedStableFunc(slices.Values(entities), byPlace) {
		if m.Offset < end || m.Length <= 0 || m.Offset > len(units) || m.Length > len(units)-m.Offset {
			continue
		}
		to := m.Offset + m.Length
		word := piece(m.Offset, to)
		switch {
		case m.Type == "bot_command" && m.Offset == 0:
			name, bot, named := strings.Cut(strings.TrimPrefix(word, "/"), "@")
			if named && !strings.EqualFold(bot, self.UserName) {
				return parsedText{forOtherBot: true}
			}
			w.command, end = strings.ToLower(name), to
			all.Add("/" + name)
		case isMention(m, word, self):
			all.Add(piece(end, m.Offset))
			args.Add(piece(end, m.Offset))
			all.Mention()
			args.Mention()
			w.mentioned, end = true, to
		case m.Type == "mention", m.Type == "text_mention":
			w.mentionsOthers = true
		}
	}
	all.Add(piece(end, len(units)))
	args.Add(piece(end, len(units)))
	w.mentionsOthers = w.mentionsOthers && !w.mentioned
	if w.text = all.String(); w.command != "" {
		w.args = args.String()
	}
	return w
}

// isMention reports whether an entity mentions the bot. The parameter word is the text of the entity. The bot is
// mentioned by its username in an entity of type mention, or by its user in an entity of type text_mention.
func isMention(m tgbotapi.MessageEntity, word string, self tgbotapi.User) bool {
	switch m.Type {
	case "mention":
		return strings.EqualFold(word, "@"+self.UserName)
	case "text_mention":
		return isSelf(m.User, self)
	}
	return false
}
