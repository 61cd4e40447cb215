package telegram

import (
	"strconv"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
	"telex/internal/markup"
)

// decodeMessage decodes a message and decides whether the message is for the bot.
func decodeMessage(m *incoming, self tgbotapi.User) (chat.Inbound, bool, error) {
	if m.Chat == nil || m.ID == 0 {
		return chat.Inbound{}, false, errNoChat
	}
	if m.MovedTo != 0 || m.MovedFrom != 0 {
		return migration(m), true, nil
	}
	to, ok := target(&m.baseMessage)
	if !ok || m.Forwarded || isSelf(m.From, self) || isSelf(m.ViaBot, self) {
		return chat.Inbound{}, false, nil
	}
	sender, ok := senderOf(&m.baseMessage)
	if !ok {
		return chat.Inbound{}, false, nil
	}
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.InCaption
	}
	parsed := parseText(text, entities, self)
	files := attachments(&m.media, m.Text)
	if parsed.forOtherBot || (parsed.text == "" && !parsed.mentioned && len(files) == 0) {
		return chat.Inbound{}, false, nil // the message is for another bot, or has no content, such as a service message
	}
	isReply := repliesTo(m, self) && !parsed.mentionsOthers
	in := chat.Inbound{
		To:          to,
		Sender:      sender,
		ID:          chat.MessageID(strconv.Itoa(m.ID)),
		Text:        parsed.text,
		Origin:      m.origin(),
		Author:      m.ForwardedFrom.value.author(),
		Quotes:      quotes(m, self),
		Addressed:   to.Kind == chat.Private || parsed.mentioned || parsed.command != "" || isReply,
		Reply:       to.Kind == chat.Group,
		Attachments: files,
		More:        m.Album != "" || markup.Units(m.Text) >= likelySplitLength,
		At:          time.Unix(m.Date, 0),
	}
	if parsed.command != "" {
		in.Kind, in.Command, in.Args = chat.Command, parsed.command, parsed.args
	}
	return in, true, nil
}

// decodeEdit decodes an edited message. Telegram also reports edits that no person made, such as the updates of a live
// location. To ignore such edits, decodeEdit ignores edits of messages without text.
func decodeEdit(m *incoming, self tgbotapi.User) (chat.Inbound, bool, error) {
	in, ok, err := decodeMessage(m, self)
	if err != nil || !ok || in.Kind == chat.Migration || in.Text == "" {
		return chat.Inbound{}, false, err
	}
	in.Kind, in.Command, in.Args, in.More = chat.Edited, "", "", false
	return in, true, nil
}

// The method origin reports whether the sender of m typed the text, forwarded the text, or got the text from another
// bot (via_bot). Servers with an API version before 7.0 don't send forward_origin, so the method origin also checks
// forward_date. https://core.telegram.org/bots/api#message
func (m *baseMessage) origin() chat.Origin {
	switch {
	case m.ForwardedFrom.present, m.ForwardedAt != nil:
		return chat.Forwarded
	case m.ViaBot != nil:
		return chat.ByBot
	}
	return chat.Typed
}

// migration decodes a message which says that a group became a supergroup. Telegram sends one message about the
// migration in the group, and another message in the supergroup. https://core.telegram.org/bots/api#message
func migration(m *incoming) chat.Inbound {
	from, to := m.Chat.ID, m.MovedTo
	if to == 0 {
		from, to = m.MovedFrom, m.Chat.ID
	}
	return chat.Inbound{
		To: chat.Target{Chat: chatID(from), Kind: chat.Group}, Kind: chat.Migration, MovedTo: chatID(to),
		ID: chat.MessageID(strconv.Itoa(m.ID)), At: time.Unix(m.Date, 0),
	}
}

// decodeCallback decodes a button press. The id of the Inbound is not that of the message with the button, because
// people may press the buttons of one message several times, and the bot can't reply to a press. The time of the
// Inbound is the current time, because Telegram does not send the time of a press.
func decodeCallback(c *callback, self tgbotapi.User) (chat.Inbound, bool, error) {
	if c.Message == nil || c.From == nil {
		return chat.Inbound{}, false, nil
	}
	if c.Message.Chat == nil {
		return chat.Inbound{}, false, errNoChat
	}
	to, ok := target(c.Message)
	if !ok || isSelf(c.From, self) || c.Data == "" {
		return chat.Inbound{}, false, nil
	}
	return chat.Inbound{
		To:        to,
		Sender:    chat.Sender{ID: userID(c.From.ID), Name: fullName(c.From), Bot: c.From.IsBot},
		ID:        chat.MessageID(pressPrefix + c.ID),
		Kind:      chat.Button,
		Action:    c.Data,
		Addressed: true,
		At:        time.Now(),
	}, true, nil
}

// decodeStop decodes a press on a draft's stop button. Like decodeCallback, decodeStop uses the current time, and an
// id to which the bot can't reply.
func decodeStop(s *stopPress, update int) (chat.Inbound, bool) {
	if s.Chat == nil || s.Chat.ID == 0 || s.Chat.Type != "private" || s.Draft == 0 {
		return chat.Inbound{}, false
	}
	to := chat.Target{Chat: chatID(s.Chat.ID), Kind: chat.Private}
	if s.Thread != 0 {
		to.Thread = chat.ThreadID(strconv.Itoa(s.Thread))
	}
	return chat.Inbound{
		To:        to,
		Sender:    chat.Sender{ID: userID(s.Chat.ID), Name: clip(strings.TrimSpace(s.Chat.FirstName+" "+s.Chat.LastName), maxName)},
		ID:        chat.MessageID(stopPrefix + strconv.Itoa(update)),
		Kind:      chat.Button,
		Action:    chat.DraftAction(s.Draft),
		Addressed: true,
		At:        time.Now(),
	}, true
}

// target returns the chat and topic in which the bot answers m. target returns false for channels, because the bot
// can't answer anybody in a channel.
func target(m *baseMessage) (chat.Target, bool) {
	to := chat.Target{Chat: chatID(m.Chat.ID)}
	switch m.Chat.Type {
	case "private":
		to.Kind = chat.Private
	case "group", "supergroup":
		to.Kind = chat.Group
	default:
		return chat.Target{}, false
	}
	if m.InTopic && m.Thread != 0 {
		to.Thread = chat.ThreadID(strconv.Itoa(m.Thread))
	}
	return to, true
}

// senderOf returns who wrote m. If an anonymous administrator or a channel wrote m, senderOf returns the chat as the
// sender, because From then names only a placeholder bot.
func senderOf(m *baseMessage) (chat.Sender, bool) {
	switch {
	case m.SenderChat != nil:
		return chat.Sender{ID: userID(m.SenderChat.ID), Name: clip(m.SenderChat.Title, maxName)}, true
	case m.From != nil:
		return chat.Sender{ID: userID(m.From.ID), Name: fullName(m.From), Bot: m.From.IsBot}, true
	}
	return chat.Sender{}, false
}

// fullName returns a user's first and last name. fullName does not use User.String, which prefers the username,
// because few people know each other by username.
func fullName(u *tgbotapi.User) string {
	return clip(strings.TrimSpace(u.FirstName+" "+u.LastName), maxName)
}

// isSelf reports whether u is the bot itself.
func isSelf(u *tgbotapi.User, self tgbotapi.User) bool { return u != nil && u.ID == self.ID }

// repliesTo reports whether m is a reply to a message of the bot.
func repliesTo(m *incoming, self tgbotapi.User) bool {
	replied := m.repliedMessage()
	return replied != nil && isSelf(replied.From, self)
}
