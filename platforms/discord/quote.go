package discord

import (
	"regexp"
	"strings"

	"telex/internal/chat"
	"telex/internal/markup/marks"
)

const (
	// maxQuote limits the text of a quote, in characters. No person can write a message that is longer than maxQuote.
	// https://docs.discord.com/developers/resources/message#message-object
	maxQuote = 4000
	// maxQuotes and maxQuotedFiles limit the quotes of a message and the files of a quote. In Discord, a message can
	// quote one message, which has up to ten files.
	maxQuotes      = 10
	maxQuotedFiles = 10
)

// If m has no content of its own and forwards exactly one message, unwrapForward gives m the content of the forwarded
// message. unwrapForward returns the origin of m's content. If a person comments on a forwarded message, Discord's
// apps send the comment as a separate message. If m has content of its own, or forwards several messages, the
// forwarded messages become quotes.
// https://docs.discord.com/developers/resources/message#message-snapshot-object
func (m *incoming) unwrapForward() chat.Origin {
	if m.Content != "" || len(m.Attachments) > 0 || len(m.Forwarded) != 1 {
		return chat.Typed
	}
	f := &m.Forwarded[0].Message
	m.Content, m.Attachments, m.Stickers, m.Poll, m.Mentions = f.Content, f.Attachments, f.Stickers, f.Poll, f.Mentions
	m.Forwarded = nil
	return chat.Forwarded
}

// quotes returns the messages to which m refers: the message to which m replies, and the messages that m forwards.
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

// quote converts the message m to a quote, and returns false if m has no content. Without the privileged intent,
// Discord withholds the text and the attachments of most messages.
func (m *incoming) quote(self string) (chat.Quote, bool) {
	m.unwrapForward()
	text, _ := m.readText("", "") // keep mentions of the bot, because a quote is not addressed to anybody
	q := chat.Quote{Attachments: m.files()}
	if m.Author != nil {
		q.Author, q.Own = m.Author.name(m.Member), self != "" && m.Author.ID == self
	}
	if q.Own {
		text = escaped.ReplaceAllString(strings.ReplaceAll(text, marks.Joiner, ""), "$1")
	}
	q.Text = truncate(text, maxQuote)
	q.Attachments = q.Attachments[:min(len(q.Attachments), maxQuotedFiles)]
	return q, q.Text != "" || len(q.Attachments) > 0
}

// escaped matches a character that the dialect escaped with a backslash.
var escaped = regexp.MustCompile(`\\([^0-9A-Za-z\s])`)
