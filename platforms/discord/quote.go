package discord

import (
	"regexp"
	"strings"

	"telex/internal/chat"
	"telex/internal/markup/marks"
)

const (
	// maxQuote bounds the text of a quote, in characters: the longest message that anybody may send.
	// https://docs.discord.com/developers/resources/message#message-object
	maxQuote = 4000
	// maxQuotes and maxQuoted bound the quotes of a message, and the files of a quote. Discord has one and ten.
	maxQuotes = 10
	maxQuoted = 10
)

// unfold replaces an empty message's content by that of the message it forwards, and returns the content's origin. Discord's
// apps send a text of one's own as a message of its own. If there is one all the same, or there are several forwarded
// messages, they stay, and are quotes.
// https://docs.discord.com/developers/resources/message#message-snapshot-object
func (m *incoming) unfold() chat.Origin {
	if m.Content != "" || len(m.Attachments) > 0 || len(m.Forwarded) != 1 {
		return chat.Typed
	}
	f := &m.Forwarded[0].Message
	m.Content, m.Attachments, m.Stickers, m.Poll, m.Mentions = f.Content, f.Attachments, f.Stickers, f.Poll, f.Mentions
	m.Forwarded = nil
	return chat.Forwarded
}

// quotes returns the messages that m refers to: the one that it replies to, and those that it forwards.
func (b *Bot) quotes(m *incoming, self string) []chat.Quote {
	var list []chat.Quote
	add := func(of *incoming) {
		if q, ok := of.quote(self); ok && len(list) < maxQuotes {
			list = append(list, q)
		}
	}
	if m.ReplyTo != nil {
		if add(m.ReplyTo); len(list) == 0 && m.ReplyTo.Author != nil && m.ReplyTo.Author.ID != self {
			list = append(list, chat.Quote{Author: m.ReplyTo.Author.name(m.ReplyTo.Member), Hidden: true})
		}
	}
	for i := range m.Forwarded {
		add(&m.Forwarded[i].Message)
	}
	return list
}

// quote returns m as a quote. It returns false if Discord does not tell what m says: without the privileged intent, text and
// attachments of most messages are empty.
func (m *incoming) quote(self string) (chat.Quote, bool) {
	m.unfold()
	text, _ := m.read("", "") // mentions of the bot stay: the quote is not about who was asked
	q := chat.Quote{Attachments: m.files()}
	if m.Author != nil {
		q.Author, q.Own = m.Author.name(m.Member), self != "" && m.Author.ID == self
	}
	if q.Own {
		text = escaped.ReplaceAllString(strings.ReplaceAll(text, marks.Joiner, ""), "$1")
	}
	q.Text = cut(text, maxQuote)
	q.Attachments = q.Attachments[:min(len(q.Attachments), maxQuoted)]
	return q, q.Text != "" || len(q.Attachments) > 0
}

// escaped is a character that the dialect wrote behind a backslash.
var escaped = regexp.MustCompile(`\\([^0-9A-Za-z\s])`)
