package slack

import (
	"context"
	"fmt"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// These constants limit the search of Find for a message. Slack returns the messages of a thread oldest first, so Find
// must begin at a certain time, which is findSpan before now. Find does not find messages that are older than findSpan.
// https://docs.slack.dev/reference/methods/conversations.replies
const (
	findSpan  = 24 * time.Hour
	findPage  = 500
	findPages = 2
	// If a message has no idempotency key and is at most streamMaxAge old, Find may assume that the message is a stream
	// that another process started.
	streamMaxAge = 10 * time.Minute
	// clockSkew is the assumed maximum difference between Slack's clock and this machine's clock.
	clockSkew = time.Minute
)

// maxSentKeys limits the idempotency keys of create calls that a Bot remembers. A few keys are enough, because the
// gateway soon searches for the message if the outcome of a create call is unknown.
const maxSentKeys = 1024

// Newest implements preview.Finder. Newest returns "", because Find does not need the id of the newest message.
func (b *Bot) Newest(chat.Target) chat.MessageID { return "" }

// Find searches the bot's messages of the last day for the message that was created with the idempotency key of c. The
// name of a file contains a part of the hash of the file's key. The message of a stream has no key until the stream is
// stopped. If no message has the key of c, therefore, Find returns the bot's newest message in the thread, provided
// that the newest message has no key and is not a file. If c.KeyOnly is true, Find returns only a message that has the
// key. If this process started a stream with the key, the newest message must also be newer than the start of the
// stream. If another process may have started the stream, the newest message must be at most ten minutes old. If the
// bot can't read the messages, or if the chat has too many messages, Find fails with Rejected.
func (b *Bot) Find(ctx context.Context, to chat.Target, c chat.Create, _ string) (chat.Found, error) {
	self, err := b.identity(ctx)
	if err != nil {
		return chat.Found{}, notStarted(chat.OpFind, err)
	}
	list, err := b.recentOwnMessages(ctx, to, self)
	if err != nil {
		return chat.Found{}, err
	}
	wanted := hash(c.Key)
	var newest *message
	for i := range list {
		m := &list[i]
		switch {
		case m.key() == wanted, m.isFile(wanted):
			return chat.Found{Ref: foundRef(to, m, c.Key)}, nil
		case newest == nil || isLater(m.TS, newest.TS):
			newest = m
		}
	}
	since := time.Now().Add(-streamMaxAge)
	began, known := b.sentKeys.Get(wanted)
	if known {
		since = began.Add(-clockSkew)
	}
	if c.KeyOnly || to.Thread == "" || known && began.IsZero() || newest == nil || newest.key() != "" || len(newest.Files) > 0 || timeOf(newest.TS).Before(since) {
		return chat.Found{}, nil
	}
	return chat.Found{Ref: foundRef(to, newest, c.Key)}, nil
}

// recentOwnMessages returns the bot's messages of the last day in a chat, in any order.
func (b *Bot) recentOwnMessages(ctx context.Context, to chat.Target, self identity) ([]message, error) {
	var found []message
	from := page{oldest: tsOf(time.Now().Add(-findSpan)), size: findPage}
	for range findPages {
		list, next, err := b.read(ctx, to, from)
		if err != nil {
			// The bot may be able to write in a chat that it can't read. The kind of the error becomes Rejected, because a later
			// attempt to read the chat would fail too.
			return nil, calls.Reclassify(err, chat.Rejected, chat.Forbidden, chat.Gone)
		}
		for _, m := range list {
			if m.isFrom(self) && (m.Subtype == "" || m.Subtype == subtypeFile) {
				found = append(found, m)
			}
		}
		if next == "" {
			return found, nil
		}
		from.cursor = next
	}
	return nil, &chat.SendError{
		Kind: chat.Rejected, Err: fmt.Errorf("%s: more than %d messages in %v: too many to search", readMethod(to), findPages*findPage, findSpan),
	}
}

// foundRef returns the reference to a message that the create call would have returned. The reference to a file
// contains the id of the file. A message without an idempotency key is a stream, and the reference to a stream contains
// the hash of the key.
func foundRef(to chat.Target, m *message, key string) chat.MessageRef {
	ref := chat.MessageRef{Target: to, ID: chat.MessageID(m.TS)}
	switch {
	case len(m.Files) > 0:
		ref.ID = chat.MessageID(m.Files[0].ID)
	case m.key() == "":
		ref.ID = streamID(m.TS, key)
	}
	return ref
}
