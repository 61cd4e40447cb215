package slack

import (
	"context"
	"fmt"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// The bounds of a search. Slack hands out the messages of a thread from its oldest on, so that there
// must be a beginning; nobody tries to finish a reply that is older.
// https://docs.slack.dev/reference/methods/conversations.replies
const (
	findSpan  = 24 * time.Hour
	findPage  = 500
	findPages = 2
	// findFresh is how old a message without a key may be to be what another process just created.
	findFresh = 10 * time.Minute
	// clocks is how far Slack's clock may be from ours.
	clocks = time.Minute
)

// maxSentKeys is how many keys of creates are remembered. Those with an unknown outcome are asked for soon.
const maxSentKeys = 1024

// Find returns the message of ours that was created with key, among those of the last day. Files have
// it in their names. Streams that were not stopped have it nowhere: where nothing has the key, the newest
// message of ours in a thread is meant if it has no key at all, is no file, and came after this process
// began the stream, or in the last ten minutes where it knows of none. Where messages can't be read, or
// are too many, the failure is Rejected.
func (b *Bot) Find(ctx context.Context, to chat.Target, key string) (chat.MessageRef, bool, error) {
	self, err := b.identity(ctx)
	if err != nil {
		return chat.MessageRef{}, false, unstarted(chat.OpFind, err)
	}
	list, err := b.recentOwn(ctx, to, self)
	if err != nil {
		return chat.MessageRef{}, false, err
	}
	wanted := hash(key)
	var newest *message
	for i := range list {
		m := &list[i]
		switch {
		case m.key() == wanted, m.isFile(wanted):
			return found(to, m, key), true, nil
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
		return chat.MessageRef{}, false, nil
	}
	return found(to, newest, key), true, nil
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

// found names a message as the call that made it would: by its file, or as a stream: should it be one
// it will be stopped, and get its key.
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
