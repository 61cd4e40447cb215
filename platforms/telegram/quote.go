package telegram

import (
	"cmp"
	"encoding/json"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
)

// These constants limit the size of quoted messages in bytes. maxQuoted and maxName exceed what Telegram allows people
// to write.
const (
	maxQuoted = 4 * textLimit
	maxName   = 512 // two names of 64 characters each, or the title of a chat
)

// lenient decodes a part of a message that may have an unexpected form. With lenient, an unexpected form of one part
// does not prevent the decoding of the whole message.
type lenient[T any] struct {
	present bool
	value   T
}

// UnmarshalJSON decodes those fields that have the expected form, and ignores the other fields. UnmarshalJSON never
// fails.
func (l *lenient[T]) UnmarshalJSON(data []byte) error {
	l.present = string(data) != "null"
	_ = json.Unmarshal(data, &l.value)
	return nil
}

// origin says who wrote a message that was forwarded, or to which somebody replied from another chat.
// https://core.telegram.org/bots/api#messageorigin
type origin struct {
	User   *tgbotapi.User `json:"sender_user"`
	Hidden string         `json:"sender_user_name"` // name of a user whose account is hidden
	Group  *tgbotapi.Chat `json:"sender_chat"`      // the chat in whose name an administrator wrote
	Chat   *tgbotapi.Chat `json:"chat"`             // a channel
}

// author returns the name of the person or chat that wrote the message, or "" if the name is unknown.
func (o *origin) author() string {
	switch {
	case o.User != nil:
		return fullName(o.User)
	case o.Group != nil:
		return clip(o.Group.Title, maxName)
	case o.Chat != nil:
		return clip(o.Chat.Title, maxName)
	}
	return clip(o.Hidden, maxName)
}

// externalReply describes the message to which somebody replies, if that message is in another chat or topic. Telegram
// does not send the text of a message in another chat or topic. https://core.telegram.org/bots/api#externalreplyinfo
type externalReply struct {
	Origin lenient[origin] `json:"origin"`
	media
}

// textQuote is the part of a message that a reply quotes. https://core.telegram.org/bots/api#textquote
type textQuote struct {
	Text   string `json:"text"`
	Manual bool   `json:"is_manual"` // true: the sender selected the part; false: Telegram selected the part
}

// repliedMessage returns the message in the same chat to which m replies, or nil. In a topic, every message refers to
// the message that opened the topic; repliedMessage ignores this reference.
func (m *incoming) repliedMessage() *baseMessage {
	if r := &m.ReplyTo; r.present && !(m.InTopic && r.value.ID == m.Thread) {
		return &r.value
	}
	return nil
}

// quotes returns a list with one quote, of the message to which m replies. quotes returns nil if m is not a reply, or
// if the replied-to message has no content and is not the bot's own.
func quotes(m *incoming, self tgbotapi.User) []chat.Quote {
	var q chat.Quote
	r := m.repliedMessage()
	switch {
	case r != nil:
		if sender, ok := senderOf(r); ok {
			q.Author = sender.Name
		}
		if r.origin() == chat.Forwarded {
			q.Author = r.ForwardedFrom.value.author()
		}
		q.Own = isSelf(r.From, self)
		q.Text = cmp.Or(r.Text, r.Caption)
		q.Attachments = attachments(&r.media, r.Text)
	case m.External.present:
		from := &m.External.value.Origin.value
		q.Author, q.Own = from.author(), isSelf(from.User, self)
		q.Attachments = attachments(&m.External.value.media, "")
	default:
		return nil
	}
	if marked := &m.Quote.value; marked.Text != "" && (marked.Manual || q.Text == "") {
		q.Text, q.Part = marked.Text, marked.Manual
	}
	if q.Text = clip(q.Text, maxQuoted); q.Text == "" && len(q.Attachments) == 0 && !q.Own {
		return nil
	}
	return []chat.Quote{q}
}

// clip shortens a text to a number of bytes, without cutting a character.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}
