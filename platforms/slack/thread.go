package slack

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"telex/internal/chat"
)

// The bounds of reading what stands in a thread or was shared.
const (
	threadPage  = 500
	threadPages = 4
	// threadTail is how far back the last page begins if a thread is longer than the pages before it.
	threadTail = 24 * time.Hour
	// threadNames is how long looking up the names of a thread's authors may take.
	threadNames = 3 * time.Second

	maxShared   = 8    // messages that come with one message
	maxQuoted   = 8000 // UTF-16 units of the text of a quote
	maxNameLen  = 80   // UTF-16 units of an author's name
	maxAttached = 8    // files of one quote
)

// ReadThread implements gateway.ThreadReader. It takes at most threadPages calls. Slack returns a thread from its beginning on: of
// one with more than 1,500 messages, the newest are those of the last day, or the first 500 of that day.
// https://docs.slack.dev/reference/methods/conversations.replies
func (b *Bot) ReadThread(ctx context.Context, to chat.Target, before chat.MessageID, most int) ([]chat.Quote, error) {
	if to.Thread == "" || most <= 0 {
		return nil, nil
	}
	self, err := b.identity(ctx)
	if err != nil {
		return nil, unstarted(chat.OpFind, err)
	}
	list, err := b.threadMessages(ctx, to, before, most)
	if err != nil {
		return nil, err
	}
	name, done := b.nameOf(ctx, time.Now().Add(threadNames))
	defer done()
	quotes := make([]chat.Quote, len(list))
	for i := range list {
		quotes[i] = list[i].quote(self, name)
	}
	return quotes, nil
}

// threadMessages returns the first message of a thread and its newest ones before a message, oldest first.
func (b *Bot) threadMessages(ctx context.Context, to chat.Target, before chat.MessageID, most int) ([]message, error) {
	end, _, _ := split(before)
	if !isTS(end) {
		end = tsOf(time.Now().Add(clocks))
	}
	var first, newest []message
	last := "" // the newest that was read
	from := page{latest: end, size: threadPage}
	for n := range threadPages {
		if n == threadPages-1 {
			from.cursor, from.oldest = "", tsOf(timeOf(end).Add(-threadTail))
		}
		if wait := b.reads.take(readCount + threadCount); wait > 0 {
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
			case !m.isWritten() || !later(end, m.TS) || last != "" && !later(m.TS, last):
				continue
			case m.TS == string(to.Thread):
				first = []message{m}
			default:
				newest = append(newest, m)
			}
			last = m.TS
		}
		newest = newest[max(0, len(newest)-most+len(first)):]
		if from.cursor = next; next == "" {
			break
		}
	}
	return append(first, newest...), nil
}

// quote returns m as the gateway quotes it.
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
	words := []string{readable(m.Text, self.User, name)}
	for _, a := range m.attached() { // an alert of another app often stands only there
		text := readable(cmp.Or(a.Text, a.Fallback), self.User, name)
		if by := oneLine(a.AuthorName); by != "" && a.isShared() {
			text = by + ": " + text
		}
		words = append(words, readable(a.Title, self.User, name), text)
	}
	q.Author, q.Text = oneLine(q.Author), quoted(words...)
	return q
}

// attached returns the first attachments of m.
func (m *message) attached() []attached {
	var list []attached
	for _, a := range m.Attachments.value[:min(len(m.Attachments.value), maxShared)] {
		list = append(list, a.value)
	}
	return list
}

// shared returns the messages that the author of m shared with it.
func (m *message) shared() []attached {
	var list []attached
	for _, a := range m.attached() {
		if a.isShared() {
			list = append(list, a)
		}
	}
	return list
}

// isShared says that a is a message.
func (a attached) isShared() bool { return a.Share || a.Unfurl }

// quote returns a shared message as the gateway quotes it.
func (a attached) quote(self identity, name func(user string) string) chat.Quote {
	own := self.User != "" && a.AuthorID == self.User
	return chat.Quote{
		Author: oneLine(a.AuthorName), Own: own, Attachments: quotedFiles(a.Files),
		Text: quoted(readable(a.Title, self.User, name), readable(cmp.Or(a.Text, a.Fallback), self.User, name)),
	}
}

// quotedFiles lists the first files of a quoted message.
func quotedFiles(files []file) []chat.Attachment {
	return attachments(files[:min(len(files), maxAttached)])
}

// quoted joins texts that are not empty, and cuts the result to what a quote may have.
func quoted(texts ...string) string {
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

// oneLine returns a name without line breaks, cut to a bound.
func oneLine(name string) string {
	return cutUnits(strings.Join(strings.Fields(cutUnits(name, 4*maxNameLen)), " "), maxNameLen)
}
