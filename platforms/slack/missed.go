package slack

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
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
	mostReads    = 200 // pages in one Run
	readTries    = 4

	// What can't be read because Slack is ill is read later: illRetry, and then longer, after all else, for illFor.
	illRetry    = 5 * time.Second
	mostIllness = time.Minute
	illFor      = time.Hour
)

// catchUp hands on what was written while nothing was received, once Slack delivers again what is
// written now: in each place the oldest first, and of channels and their threads only what is for the
// bot. It fails only when accept does or ctx ends; what can't be read is left out and logged, but not before
// Slack had an hour to become well.
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
	again  []chat.Target // what could not be read because Slack is ill
	failed int           // places that could not be read and will not be
	err    error         // the first reason for it

	listed bool   // all places that the bot is a member of are known
	cursor string // where the next page of them begins
	places int    // how many are known
	ill    error  // why something must be tried again; nil: nothing must
}

// all reads every place: first those where turns began lately. What can't be read because Slack is ill is read
// when everything else was.
func (m *missed) all(ctx context.Context) error {
	until, todo := time.Now().Add(illFor), m.from.Places
	for wait := illRetry; ; wait = min(2*wait, mostIllness) {
		m.again, m.ill = nil, nil
		if err := m.round(ctx, todo); err != nil {
			return err
		}
		if m.ill == nil {
			break
		}
		if time.Now().After(until) {
			m.failed += max(1, len(m.again))
			if m.err == nil {
				m.err = m.ill
			}
			break
		}
		if wait == illRetry {
			m.bot.log.WarnContext(ctx, "what was missed can't be read yet; trying again", slog.Any("error", m.ill))
		}
		if err := receiving.Sleep(ctx, wait); err != nil {
			return err
		}
		todo = m.again
	}
	if m.failed > 0 {
		m.bot.log.WarnContext(ctx, "not everything that was missed could be read", slog.Int("places", m.failed), slog.Any("first_error", m.err))
	}
	return nil
}

// round reads the places in todo, then those that are not listed yet.
func (m *missed) round(ctx context.Context, todo []chat.Target) error {
	for _, to := range todo {
		if err := m.place(ctx, to); err != nil {
			return err
		}
	}
	for !m.listed && m.places < mostChannels {
		var list []chat.Target
		var next string
		done, err := m.try(ctx, func() (err error) {
			list, next, err = m.bot.channels(ctx, m.cursor)
			return err
		})
		if err != nil || !done {
			return err
		}
		m.places += len(list)
		m.cursor, m.listed = next, next == ""
		for _, to := range list {
			if err := m.place(ctx, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// place reads what is new in a place, and in the threads that have new replies there.
func (m *missed) place(ctx context.Context, to chat.Target) error {
	if m.seen[to] {
		return nil
	}
	m.seen[to] = true
	found, done, err := m.read(ctx, to)
	if err != nil {
		return err
	}
	if !done {
		m.seen[to], m.again = false, append(m.again, to)
		return nil
	}
	slices.SortStableFunc(found, func(a, b message) int { return timeOf(a.TS).Compare(timeOf(b.TS)) })
	for i := range found {
		a, ok, err := found[i].arrival(m.self)
		if err != nil || !ok || !a.in.Addressed {
			continue
		}
		a.in.Missed = m.waited(a.in)
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

// read returns the new messages of a place, in any order; false when it must be tried again.
func (m *missed) read(ctx context.Context, to chat.Target) (found []message, done bool, err error) {
	from := page{oldest: m.oldest, size: missedPage}
	for range missedPages {
		if m.reads >= mostReads {
			m.failed++
			return found, true, nil
		}
		var list []message
		var next string
		done, err := m.try(ctx, func() (err error) {
			if err := m.bot.reads.wait(ctx, readCount); err != nil {
				return err
			}
			list, next, err = m.bot.read(ctx, to, from)
			return err
		})
		if err != nil || !done {
			return nil, false, err
		}
		m.reads++
		for _, one := range list {
			if later(one.TS, m.oldest) { // a thread's parent comes with its replies, however old it is
				found = append(found, one)
			}
		}
		if next == "" {
			return found, true, nil
		}
		from.cursor = next
	}
	return found, true, nil
}

// try makes a call, again where that may help at once: not when something else is to be tried again as well. It
// returns false when it must be tried again later. Its error is ctx's; any other is noted, and final if it stays
// the same whenever it is tried.
func (m *missed) try(ctx context.Context, run func() error) (done bool, err error) {
	tries := readTries
	if m.ill != nil {
		tries = 1
	}
	err = receiving.Retry(ctx, tries, run)
	switch kind := chat.AsSendError(err).Kind; {
	case err == nil, ctx.Err() != nil:
		return err == nil, ctx.Err()
	case receiving.Passing(err):
		m.ill = err
		return false, nil
	case kind != chat.Forbidden && kind != chat.Gone: // there is no answering either
		m.failed++
		if m.err == nil {
			m.err = err
		}
	}
	return true, nil
}
