package slack

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// The bounds of catching up. Reading a place costs a call of tier 3, so messages missed long ago, or in hundreds of places,
// are not read.
const (
	missedMargin = 2 * time.Minute // messages may arrive in another order than they were written in
	missedSpan   = 24 * time.Hour
	missedPage   = 200
	missedPages  = 3 // of one place
	channelPage  = 200
	maxChannels  = 400
	maxReads     = 200 // pages in one Run
	// missedPatience is how long places are tried again that can't be read because of an outage.
	missedPatience = time.Hour
)

// catchUp hands on the messages that were written while nothing was received: in each place the oldest first, and of channels
// and their threads only those for the bot. It begins once Slack delivers new messages again. It fails only when accept does or
// ctx ends. Places that can't be read for an hour are left out and logged.
func (r *reception) catchUp(ctx context.Context) error {
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
		m := missed{reception: r, oldest: tsOf(since), seen: make(map[chat.Target]bool)}
		if err := m.all(ctx); err != nil {
			return err
		}
	}
	if r.bot.turn.Acquire(ctx, 1) != nil {
		return nil // the Run is over, which is no failure of this
	}
	defer r.bot.turn.Release(1)
	r.behind = false
	close(r.caught)
	return nil
}

// missed is the progress of catchUp.
type missed struct {
	*reception
	oldest string // a ts
	seen   map[chat.Target]bool
	reads  int   // pages of messages
	places int   // how many are known that the bot is a member of
	failed int   // pieces that could not be read
	err    error // the first reason for it
}

// all reads every place: first those where turns began lately.
func (m *missed) all(ctx context.Context) error {
	if err := receiving.ReadBacklog(ctx, m.bot.log, missedPatience, append(m.pieces(m.from.Places), m.channels(""))); err != nil {
		return err
	}
	if m.failed > 0 {
		m.bot.log.WarnContext(ctx, "not all missed messages could be read", slog.Int("places", m.failed), slog.Any("first_error", m.err))
	}
	return nil
}

// fail notes an error of reading, if there is one. Places without access don't count: the bot can't answer there either.
func (m *missed) fail(err error) {
	if kind := chat.AsSendError(err).Kind; err == nil || kind == chat.Forbidden || kind == chat.Gone {
		return
	}
	m.failed++
	if m.err == nil {
		m.err = err
	}
}

// channels is the piece that lists a page of the bot's conversations, and reads them.
func (m *missed) channels(cursor string) receiving.Piece {
	var list []chat.Target
	var next string
	return receiving.Piece{
		Read: func(ctx context.Context) (err error) {
			list, next, err = m.bot.channels(ctx, cursor)
			return err
		},
		Done: func(_ context.Context, err error) ([]receiving.Piece, error) {
			m.fail(err)
			more := m.pieces(list)
			if m.places += len(list); next != "" && m.places < maxChannels {
				more = append(more, m.channels(next))
			}
			return more, nil
		},
	}
}

// pieces returns the pieces for those places that were not read yet.
func (m *missed) pieces(places []chat.Target) []receiving.Piece {
	var list []receiving.Piece
	for _, to := range places {
		if !m.seen[to] {
			m.seen[to] = true
			list = append(list, m.place(to))
		}
	}
	return list
}

// place is the piece that reads the new messages of a place.
func (m *missed) place(to chat.Target) receiving.Piece {
	var found []message
	from, pages := page{oldest: m.oldest, size: missedPage}, 0
	return receiving.Piece{
		Read: func(ctx context.Context) error {
			for ; pages < missedPages; pages++ {
				if m.reads >= maxReads {
					m.failed++
					return nil
				}
				if err := m.bot.reads.wait(ctx, readCount); err != nil {
					return err
				}
				list, next, err := m.bot.read(ctx, to, from)
				if err != nil {
					return err
				}
				m.reads++
				for _, one := range list {
					if later(one.TS, m.oldest) { // a thread's parent comes with its replies, however old it is
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
			m.fail(err)
			return m.deliver(ctx, to, found)
		},
	}
}

// deliver hands on the new messages of a place, the oldest first. It returns pieces for the threads with new replies.
func (m *missed) deliver(ctx context.Context, in chat.Target, found []message) ([]receiving.Piece, error) {
	slices.SortStableFunc(found, func(a, b message) int { return timeOf(a.TS).Compare(timeOf(b.TS)) })
	var threads []chat.Target
	for i := range found {
		if in.Thread == "" && later(found[i].LatestReply, m.oldest) {
			threads = append(threads, chat.Target{Chat: in.Chat, Thread: chat.ThreadID(found[i].TS), Kind: in.Kind})
		}
		a, ok, err := found[i].arrival(m.self)
		if err != nil || !ok || !a.in.Addressed && !a.in.Follows {
			continue
		}
		a.in.Missed = m.waited(a.in)
		if err := m.take(ctx, a); err != nil {
			return nil, err
		}
	}
	return m.pieces(threads), nil
}
