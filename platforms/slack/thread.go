package slack

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"telex/internal/chat"
)

// These constants limit the reading of threads and shared messages.
const (
	threadPage  = 500
	threadPages = 4
	// If a thread does not fit into the first pages, the last page begins threadTail before the question.
	threadTail = 24 * time.Hour
	// threadNames limits the time to request the names of a thread's authors.
	threadNames = 3 * time.Second

	maxShared   = 8    // maximum number of shared messages in one message
	maxQuoted   = 8000 // maximum length of a quote's text in UTF-16 code units
	maxNameLen  = 80   // maximum length of an author's name in UTF-16 code units
	maxAttached = 8    // maximum number of files in one quote
)

// ReadThread implements gateway.ThreadReader. ReadThread makes at most threadPages calls. Slack returns a thread from
// its beginning, in pages of threadPage messages. If a thread has more than 1,500 messages, the last call reads only
// the messages of the day before the question. If the thread has more than 500 messages from the day before the
// question, the result lacks the newest of these messages.
// https://docs.slack.dev/reference/methods/conversations.replies
func (b *Bot) ReadThread(ctx context.Context, to chat.Target, before chat.MessageID, limit int) ([]chat.Quote, error) {
	if to.Thread == "" || limit <= 0 {
		return nil, nil
	}
	self, err := b.identity(ctx)
	if err != nil {
		return nil, notStarted(chat.OpFind, err)
	}
	list, err := b.threadMessages(ctx, to, before, limit)
	if err != nil {
		return nil, err
	}
	name, done := b.namesOf(ctx, time.Now().Add(threadNames))
	defer done()
	quotes := make([]chat.Quote, len(list))
	for i := range list {
		quotes[i] = list[i].quote(self, name)
	}
	return quotes, nil
}

// threadMessages returns the first message of a thread, and the newest messages that are older than before.
// threadMessages sorts the messages, oldest first.
func (b *Bot) threadMessages(ctx context.Context, to chat.Target, before chat.MessageID, limit int) ([]message, error) {
	end, _, _ := splitMessageID(before)
	if !isTS(end) {
		end = tsOf(time.Now().Add(clockSkew))
	}
	var first, newest []message
	last := "" // ts of the newest message that was read
	from := page{latest: end, size: threadPage}
	for n := range threadPages {
		if n == threadPages-1 {
			from.cursor, from.oldest = "", tsOf(timeOf(end).Add(-threadTail))
		}
		if wait := b.readPace.tryTake(b.readers.threadLimit()); wait > 0 {
			return nil, &chat.SendError{
				Kind: chat.RateLimited, RetryAfter: wait, Scope: chat.ScopeEndpoint, Ops: chat.OpFind, Err: fmt.Errorf("%s: too many threads at once", methodReplies),
			}
		}
		list, next, err := b.read(ctx, to, from)
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			switch {
			case !m.isUserMessage() || !isLater(end, m.TS) || last != "" && !isLater(m.TS, last):
				continue
			case m.TS == string(to.Thread):
				first = []message{m}
			default:
				newest = append(newest, m)
			}
			last = m.TS
		}
		newest = newest[max(0, len(newest)-limit+len(first)):]
		if from.cursor = next; next == "" {
			break
		}
	}
	return append(first, newest...), nil
}

// quote converts m to a quote.
func (m *message) quote(self identity, name func(user string) string) chat.Quote {
	q := chat.Quote{Own: m.isFrom(self), Attachments: quotedFiles(m.Files)}
	switch {
	case q.Own:
		q.Author = self.Name
	case m.User != "" && m.BotID == "":
		q.Author = cmp.Or(name(m.User), m.User)
	default:
		q.Author = cmp.Or(m.Username, m.BotProfile.Name, m.BotID)
	}
	words := []string{plainText(m.Text, self.User, name)}
	for _, a := range m.attached() { // an alert of another app often has only the text of its attachments
		text := plainText(cmp.Or(a.Text, a.Fallback), self.User, name)
		if by := oneLine(a.AuthorName); by != "" && a.isShared() {
			text = by + ": " + text
		}
		words = append(words, plainText(a.Title, self.User, name), text)
	}
	q.Author, q.Text = oneLine(q.Author), quoteText(words...)
	return q
}

// attached returns the attachments of m, but at most maxShared attachments.
func (m *message) attached() []attachment {
	var list []attachment
	for _, a := range m.Attachments.value[:min(len(m.Attachments.value), maxShared)] {
		list = append(list, a.value)
	}
	return list
}

// shared returns the earlier messages that the author of m shared with the message m.
func (m *message) shared() []attachment {
	var list []attachment
	for _, a := range m.attached() {
		if a.isShared() {
			list = append(list, a)
		}
	}
	return list
}

// isShared reports whether a is a shared message.
func (a attachment) isShared() bool { return a.Share || a.Unfurl }

// quote converts a shared message to a quote.
func (a attachment) quote(self identity, name func(user string) string) chat.Quote {
	own := self.User != "" && a.AuthorID == self.User
	return chat.Quote{
		Author: oneLine(a.AuthorName), Own: own, Attachments: quotedFiles(a.Files),
		Text: quoteText(plainText(a.Title, self.User, name), plainText(cmp.Or(a.Text, a.Fallback), self.User, name)),
	}
}

// quotedFiles lists the files of a quoted message, but at most maxAttached files.
func quotedFiles(files []file) []chat.Attachment {
	return attachments(files[:min(len(files), maxAttached)])
}

// quoteText joins texts that are not empty, and cuts the result to the limit of a quote.
func quoteText(texts ...string) string {
	var list []string
	for _, t := range texts {
		if t != "" {
			list = append(list, t)
		}
	}
	text := strings.Join(list, "\n")
	if cut := cutUnits(text, maxQuoted); cut != text {
		return cut + "…"
	}
	return text
}

// oneLine returns a name without line breaks, cut to maxNameLen.
func oneLine(name string) string {
	return cutUnits(strings.Join(strings.Fields(cutUnits(name, 4*maxNameLen)), " "), maxNameLen)
}
