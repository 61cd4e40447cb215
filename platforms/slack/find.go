package slack

import (
	"context"
	"fmt"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// The bounds of a search. Slack returns the messages of a thread from the oldest on, so a search needs a beginning. No reply
// that is older is still to be finished.
// https://docs.slack.dev/reference/methods/conversations.replies
const (
	findSpan  = 24 * time.Hour
	findPage  = 500
	findPages = 2
	// findFresh is how old a message without a key may be if another process created it.
	findFresh = 10 * time.Minute
	// clocks is how far Slack's clock may be from ours.
	clocks = time.Minute
)

// maxSentKeys is how many keys of creates are remembered. A create with an unknown outcome is looked up soon.
const maxSentKeys = 1024

// Newest implements preview.Finder: a key is enough to find a message.
func (b *Bot) Newest(chat.Target) chat.MessageID { return "" }

// Find returns the message of ours that was created with c's key, among those of the last day. Files have the key in their names.
// A stream gets its key when it is stopped. If no message has the key, Find takes the newest message of ours in the thread for
// the stream, if it has no key, is no file, and is newer than the stream's begin; or, if this process began none, than ten
// minutes. If messages can't be read, or are too many, the failure is Rejected.
func (b *Bot) Find(ctx context.Context, to chat.Target, c chat.Create, _ string) (chat.Found, error) {
	self, err := b.identity(ctx)
	if err != nil {
		return chat.Found{}, unstarted(chat.OpFind, err)
	}
	list, err := b.recentOwn(ctx, to, self)
	if err != nil {
		return chat.Found{}, err
	}
	wanted := hash(c.Key)
	var newest *message
	for i := range list {
		m := &list[i]
		switch {
		case m.key() == wanted, m.isFile(wanted):
			return chat.Found{Ref: found(to, m, c.Key)}, nil
		case newest == nil || later(m.TS, newest.TS):
			newest = m
		}
	}
	since := time.Now().Add(-findFresh)
	began, known := b.sentKeys.Get(wanted)
	if known {
		since = began.Add(-clocks)
	}
	if to.Thread == "" || known && began.IsZero() || newest == nil || newest.key() != "" || len(newest.Files) > 0 || timeOf(newest.TS).Before(since) {
		return chat.Found{}, nil
	}
	return chat.Found{Ref: found(to, newest, c.Key)}, nil
}

// recentOwn returns the messages of ours in a place that are of the last day, in any order.
func (b *Bot) recentOwn(ctx context.Context, to chat.Target, self identity) ([]message, error) {
	var found []message
	from := page{oldest: tsOf(time.Now().Add(-findSpan)), size: findPage}
	for range findPages {
		list, next, err := b.read(ctx, to, from)
		if err != nil {
			// Where the bot may not read it may well be able to write, and what it can't read it never learns.
			return nil, calls.Instead(err, chat.Rejected, chat.Forbidden, chat.Gone)
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
		Kind: chat.Rejected, Err: fmt.Errorf("%s: more than %d messages in %v: what was sent can't be told", methodOfReading(to), findPages*findPage, findSpan),
	}
}

// found names a message as the call that created it would: by its file, or as a stream. A stream will be stopped, and gets its
// key then.
func found(to chat.Target, m *message, key string) chat.MessageRef {
	ref := chat.MessageRef{Target: to, ID: chat.MessageID(m.TS)}
	switch {
	case len(m.Files) > 0:
		ref.ID = chat.MessageID(m.Files[0].ID)
	case m.key() == "":
		ref.ID = streamID(m.TS, key)
	}
	return ref
}
