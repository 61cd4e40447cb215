package slack

import (
	"context"
	"fmt"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// Limits of a search. Slack returns the messages of a thread oldest first, so a search must start at some time:
// findSpan before now. A create that is older than that is no longer searched for.
// https://docs.slack.dev/reference/methods/conversations.replies
const (
	findSpan  = 24 * time.Hour
	findPage  = 500
	findPages = 2
	// streamMaxAge is the maximum age of a message without a key that Find takes for another process's stream.
	streamMaxAge = 10 * time.Minute
	// clockSkew is the assumed maximum difference between Slack's clock and this machine's clock.
	clockSkew = time.Minute
)

// maxSentKeys limits the remembered keys of creates. A few are enough, because the search for a create with an
// unknown outcome follows soon after the create.
const maxSentKeys = 1024

// Newest implements preview.Finder. It returns "", because the key is enough to find a message.
func (b *Bot) Newest(chat.Target) chat.MessageID { return "" }

// Find returns the bot's message that was created with c's key, among those of the last day. Files have the key in
// their names. A stream gets its key only when it is stopped. So if no message has the key, Find takes the bot's
// newest message in the thread that has no key and is not a file, unless c.KeyOnly forbids that. That message must be
// newer than the start of the stream. If another process started the stream, the message must be at most ten minutes
// old. If messages can't be read or are too many, Find fails with Rejected.
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
			// The bot may be able to write where it can't read. A later attempt to read would fail too.
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

// foundRef returns a message's reference as the create would have returned it: by its file, or as a stream. A message
// without a key is such a stream; it gets its key when it is stopped.
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
