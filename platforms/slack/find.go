package slack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
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

// create is how a message was last made: what has no key in its metadata can only be told by it.
type create struct {
	stream bool
	at     time.Time // of a stream
	file   string    // its id; empty: it is none
}

// mostCreates is how many creates are remembered. Those of unknown fate are asked for soon.
const mostCreates = 1024

// creates are the last ones of this process.
type creates struct {
	mu   sync.Mutex
	ring ring[create]
}

func (c *creates) note(key string, made create) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ring.put(hash(key), made, mostCreates)
}

func (c *creates) get(hashed string) (create, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ring.get(hashed)
}

// Find returns the message of ours that was created with key, among those of the last day. All have
// their key in their metadata, but streams that were not stopped and files, which have none: a file is
// told by its id, and a stream is the newest message of ours if that has no key and came after the
// create. What another process created may be such a message as well if it is not older than ten
// minutes: a stream then, while of a file it can't be told, and the failure is Rejected. So it is where
// messages can't be read, or are too many.
func (b *Bot) Find(ctx context.Context, to chat.Target, key string) (chat.MessageRef, bool, error) {
	self, err := b.identity(ctx)
	if err != nil {
		return chat.MessageRef{}, false, unstarted(err)
	}
	list, err := b.recentOwn(ctx, to, self)
	if err != nil {
		return chat.MessageRef{}, false, err
	}
	wanted := hash(key)
	made, known := b.creates.get(wanted)
	var newest *message
	for i := range list {
		m := &list[i]
		switch {
		case m.key() == wanted, made.file != "" && m.holds(made.file):
			return found(to, m, key), true, nil
		case newest == nil || later(m.TS, newest.TS):
			newest = m
		}
	}
	since := time.Now().Add(-findFresh)
	if known {
		since = made.at.Add(-clocks)
	}
	switch {
	case newest == nil, newest.key() != "", timeOf(newest.TS).Before(since), known && !made.stream, known && len(newest.Files) > 0:
		return chat.MessageRef{}, false, nil
	case len(newest.Files) > 0:
		return chat.MessageRef{}, false, &chat.SendError{
			Kind: chat.Rejected, Err: errors.New(methodOfReading(to) + ": the newest message is a file, and files have no key"),
		}
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
			return nil, unread(err)
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

// holds says that m shows a file.
func (m *message) holds(id string) bool {
	return slices.ContainsFunc(m.Files, func(f file) bool { return f.ID == id })
}

// unread turns the failure to read messages into what Find returns: where the bot may not read it may
// well be able to write, and what it can't read it never learns.
func unread(err error) error {
	failure := *chat.AsSendError(err)
	if failure.Kind == chat.Forbidden || failure.Kind == chat.Gone {
		failure.Kind = chat.Rejected
	}
	return &failure
}
