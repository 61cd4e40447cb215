package slack

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"telex/internal/chat"
)

// The bounds of catching up. Reading a place costs a call of tier 3, so that what was missed long ago,
// or in hundreds of places, is not worth it.
const (
	missedMargin = 2 * time.Minute // messages may arrive in another order than they were written in
	missedSpan   = 24 * time.Hour
	missedPage   = 200
	missedPages  = 3 // of one place
	channelPage  = 200
	mostChannels = 400
	mostReads    = 200 // calls in one Run
	readTries    = 4
)

// catchUp hands on what was written while nothing was received, once Slack delivers again what is
// written now: in each place the oldest first, and of channels and their threads only what is for the
// bot. It fails only when accept does or ctx ends; what can't be read is left out and logged.
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
	done, err := r.bot.begin(ctx)
	if err != nil {
		return nil //nolint:nilerr // the Run is over, which is no failure of this.
	}
	defer done()
	r.behind = false
	close(r.caught)
	return nil
}

// missed is what a catching up has done so far.
type missed struct {
	*reception
	oldest string // a ts
	seen   map[chat.Target]bool
	reads  int
	failed int // places that could not be read
	err    error
}

// all reads every place: first those where turns began lately.
func (m *missed) all(ctx context.Context) error {
	for _, to := range m.from.Places {
		if err := m.place(ctx, to); err != nil {
			return err
		}
	}
	places, cursor := 0, ""
	for places < mostChannels {
		list, next, err := m.list(ctx, cursor)
		if err != nil {
			return err
		}
		for _, to := range list {
			if err := m.place(ctx, to); err != nil {
				return err
			}
		}
		if places += len(list); next == "" {
			break
		}
		cursor = next
	}
	if m.failed > 0 {
		m.bot.log.WarnContext(ctx, "not everything that was missed could be read", slog.Int("places", m.failed), slog.Any("first_error", m.err))
	}
	return nil
}

// list returns a page of the places that the bot is a member of.
func (m *missed) list(ctx context.Context, cursor string) (list []chat.Target, next string, err error) {
	err = m.try(ctx, func() error {
		list, next, err = m.bot.channels(ctx, cursor)
		return err
	})
	return list, next, err
}

// place reads what is new in a place, and in the threads that have new replies there.
func (m *missed) place(ctx context.Context, to chat.Target) error {
	if m.seen[to] {
		return nil
	}
	m.seen[to] = true
	found, err := m.read(ctx, to)
	if err != nil {
		return err
	}
	slices.SortStableFunc(found, func(a, b message) int { return timeOf(a.TS).Compare(timeOf(b.TS)) })
	for i := range found {
		a, ok, err := found[i].arrival(m.self)
		if err != nil || !ok || !a.in.Addressed {
			continue
		}
		if err := m.take(ctx, a); err != nil {
			return err
		}
	}
	if to.Thread != "" {
		return nil
	}
	for _, parent := range found {
		if later(parent.LatestReply, m.oldest) {
			thread := chat.Target{Chat: to.Chat, Thread: chat.ThreadID(parent.TS), Kind: to.Kind}
			if err := m.place(ctx, thread); err != nil {
				return err
			}
		}
	}
	return nil
}

// read returns the new messages of a place, in any order.
func (m *missed) read(ctx context.Context, to chat.Target) ([]message, error) {
	var found []message
	from := page{oldest: m.oldest, size: missedPage}
	for range missedPages {
		if m.reads++; m.reads > mostReads {
			m.failed++
			return found, nil
		}
		var list []message
		var next string
		err := m.try(ctx, func() (err error) {
			if err := m.bot.reads.wait(ctx, readCount); err != nil {
				return err
			}
			list, next, err = m.bot.read(ctx, to, from)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			if later(one.TS, m.oldest) { // a thread's parent comes with its replies, however old it is
				found = append(found, one)
			}
		}
		if next == "" {
			return found, nil
		}
		from.cursor = next
	}
	return found, nil
}

// try makes a call, again where that may help. Its error is ctx's; any other is noted.
func (m *missed) try(ctx context.Context, run func() error) error {
	for n := range readTries {
		err := run()
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		wait := time.Second << n
		switch failure := chat.AsSendError(err); failure.Kind {
		case chat.RateLimited:
			wait = failure.RetryAfter
		case chat.Temporary, chat.Uncertain:
		default:
			n = readTries
		}
		if n >= readTries-1 {
			if m.failed++; m.err == nil {
				m.err = err
			}
			return nil
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
	return nil
}
