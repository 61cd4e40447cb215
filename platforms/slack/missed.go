package slack

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// These constants limit the reading of missed messages. Reading one chat takes at least one call of a method in tier 3,
// and Slack allows only 50 of these calls per minute. To save calls, telex does not read messages that are too old, and
// limits the number of chats that it reads.
const (
	missedMargin = 2 * time.Minute // read messages from missedMargin before the cursor, since order may differ
	missedSpan   = 24 * time.Hour
	missedPage   = 200
	missedPages  = 3 // per chat
	channelPage  = 200
	maxChannels  = 400
	maxReads     = 200 // pages per Run
	// missedRetryTime is how long Run retries chats that it can't read because of an outage.
	missedRetryTime = time.Hour
)

// readMissed delivers the messages that people wrote while the bot received nothing. readMissed delivers the messages
// of each chat oldest first. In channels and threads, readMissed delivers only messages for the bot. readMissed first
// waits until Slack can deliver new messages again. readMissed fails only if accept fails or ctx ends. If a chat
// can't be read for an hour, readMissed skips the chat and logs the error.
func (r *receiver) readMissed(ctx context.Context) error {
	select {
	case <-r.open:
	case <-ctx.Done():
		return nil
	}
	if isTS(r.from.Cursor) {
		since := timeOf(r.from.Cursor).Add(-missedMargin)
		if first := time.Now().Add(-missedSpan); since.Before(first) {
			since = first
		}
		m := catchUp{receiver: r, oldest: tsOf(since), seen: make(map[chat.Target]bool)}
		if err := m.run(ctx); err != nil {
			return err
		}
	}
	if r.bot.turn.Acquire(ctx, 1) != nil {
		return nil // the call of Run has ended, which is not a failure
	}
	defer r.bot.turn.Release(1)
	r.behind = false
	close(r.caughtUp)
	return nil
}

// catchUp is the state of readMissed.
type catchUp struct {
	*receiver
	oldest string // a ts; readMissed does not read older messages
	seen   map[chat.Target]bool
	reads  int   // number of pages of messages that were read
	places int   // number of known chats that the bot is a member of
	failed int   // number of pieces of work that failed
	err    error // the first error
}

// The method run reads every chat, starting with the chats in which people have recently asked the bot something.
func (m *catchUp) run(ctx context.Context) error {
	if err := receiving.ReadBacklog(ctx, m.bot.log, missedRetryTime, append(m.pieces(m.from.Places), m.listChannels(""))); err != nil {
		return err
	}
	if m.failed > 0 {
		m.bot.log.WarnContext(ctx, "not all missed messages could be read", slog.Int("places", m.failed), slog.Any("first_error", m.err))
	}
	return nil
}

// noteFailure records an error that occurred while the bot read a chat. noteFailure ignores the error if the bot may
// not read the chat, because the bot can't answer in an unreadable chat either.
func (m *catchUp) noteFailure(err error) {
	if kind := chat.AsSendError(err).Kind; err == nil || kind == chat.Forbidden || kind == chat.Gone {
		return
	}
	m.failed++
	if m.err == nil {
		m.err = err
	}
}

// listChannels returns a piece of work that lists one page of the bot's conversations. When the returned piece is done,
// it adds further pieces of work, which read the listed conversations.
func (m *catchUp) listChannels(cursor string) receiving.Piece {
	var list []chat.Target
	var next string
	return receiving.Piece{
		Read: func(ctx context.Context) (err error) {
			list, next, err = m.bot.channels(ctx, cursor)
			return err
		},
		Done: func(_ context.Context, err error) ([]receiving.Piece, error) {
			m.noteFailure(err)
			more := m.pieces(list)
			if m.places += len(list); next != "" && m.places < maxChannels {
				more = append(more, m.listChannels(next))
			}
			return more, nil
		},
	}
}

// The method pieces returns one piece of work for each chat in places that was not read yet.
func (m *catchUp) pieces(places []chat.Target) []receiving.Piece {
	var list []receiving.Piece
	for _, to := range places {
		if !m.seen[to] {
			m.seen[to] = true
			list = append(list, m.readPlace(to))
		}
	}
	return list
}

// readPlace returns the piece of work that reads and delivers the new messages of a chat.
func (m *catchUp) readPlace(to chat.Target) receiving.Piece {
	var found []message
	from, pages := page{oldest: m.oldest, size: missedPage}, 0
	return receiving.Piece{
		Read: func(ctx context.Context) error {
			for ; pages < missedPages; pages++ {
				if m.reads >= maxReads {
					m.failed++
					return nil
				}
				if err := m.bot.readPace.wait(ctx, m.bot.readers.missedLimit); err != nil {
					return err
				}
				list, next, err := m.bot.read(ctx, to, from)
				if err != nil {
					return err
				}
				m.reads++
				for _, one := range list {
					if isLater(one.TS, m.oldest) { // with the replies, Slack returns a thread's first message, even if it is older
						found = append(found, one)
					}
				}
				if from.cursor = next; next == "" {
					return nil
				}
			}
			return nil
		},
		Done: func(ctx context.Context, err error) ([]receiving.Piece, error) {
			m.noteFailure(err)
			return m.deliverMissed(ctx, to, found)
		},
	}
}

// deliverMissed delivers the new messages of a chat, oldest first. deliverMissed returns one piece of work for each
// thread with new replies.
func (m *catchUp) deliverMissed(ctx context.Context, in chat.Target, found []message) ([]receiving.Piece, error) {
	slices.SortStableFunc(found, func(a, b message) int { return timeOf(a.TS).Compare(timeOf(b.TS)) })
	var threads []chat.Target
	for i := range found {
		if in.Thread == "" && isLater(found[i].LatestReply, m.oldest) {
			threads = append(threads, chat.Target{Chat: in.Chat, Thread: chat.ThreadID(found[i].TS), Kind: in.Kind})
		}
		a, ok, err := found[i].decode(m.self)
		if err != nil || !ok || !a.in.Addressed && !a.in.Follows {
			continue
		}
		a.in.Missed = m.wasWaiting(a.in)
		if err := m.deliver(ctx, a); err != nil {
			return nil, err
		}
	}
	return m.pieces(threads), nil
}
