package telegram

import (
	"cmp"
	"encoding/json"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
)

// Bounds of what is taken from messages of others, in bytes. Both hold all that Telegram lets people write.
const (
	maxQuoted = 4 * textLimit
	maxName   = 512 // two names of 64 characters each, or the title of a chat
)

// lenient is a part of a message that may have another form than expected: the message can be read without it.
type lenient[T any] struct {
	present bool
	value   T
}

// UnmarshalJSON keeps as much as has the expected form.
func (l *lenient[T]) UnmarshalJSON(data []byte) error {
	l.present = string(data) != "null"
	_ = json.Unmarshal(data, &l.value)
	return nil
}

// origin says who wrote a message that was forwarded, or that is replied to in another chat.
// https://core.telegram.org/bots/api#messageorigin
type origin struct {
	User   *tgbotapi.User `json:"sender_user"`
	Hidden string         `json:"sender_user_name"` // of a user who hides the account
	Group  *tgbotapi.Chat `json:"sender_chat"`      // in whose name an administrator wrote
	Chat   *tgbotapi.Chat `json:"chat"`             // a channel
}

// author returns the name of the person or chat; empty: unknown.
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

// external is a message replied to that is in another chat or topic. Its text is not there.
// https://core.telegram.org/bots/api#externalreplyinfo
type external struct {
	Origin lenient[origin] `json:"origin"`
	media
}

// textQuote is the part of a message to which another one replies.
// https://core.telegram.org/bots/api#textquote
type textQuote struct {
	Text   string `json:"text"`
	Manual bool   `json:"is_manual"` // the sender marked it; otherwise Telegram chose it
}

// replied returns the message of the same chat that m replies to; nil if m replies to nothing. Every message of a topic refers to
// the one that opened the topic, which says nothing.
func (m *incoming) replied() *posted {
	if r := &m.ReplyTo; r.present && !(m.InTopic && r.value.ID == m.Thread) {
		return &r.value
	}
	return nil
}

// quotes returns the message that m replies to, if it says anything.
func quotes(m *incoming, self tgbotapi.User) []chat.Quote {
	var q chat.Quote
	replied := m.replied()
	switch {
	case replied != nil:
		if sender, ok := senderOf(replied); ok {
			q.Author = sender.Name
		}
		if replied.origin() == chat.Forwarded {
			q.Author = replied.ForwardedFrom.value.author()
		}
		q.Own = isSelf(replied.From, self)
		q.Text = cmp.Or(replied.Text, replied.Caption)
		q.Attachments = attachments(&replied.media, replied.Text)
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

// clip cuts a text to a number of bytes, between two characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
