package store

import (
	"context"
	"math"
	"time"
)

// keyLife is how long a finished message stays known, and what was sent for it. No platform repeats an
// unacknowledged message for so long; Telegram keeps updates for 24 hours
// (https://core.telegram.org/bots/api#getting-updates), WhatsApp retries for 7 days.
const keyLife = 7*24*time.Hour + time.Hour

// usageLife is how long it stays known what a turn used: the longest time that anybody sums up is a year.
const usageLife = 400 * 24 * time.Hour

// sweepBatch is how many rows one transaction of a sweep deletes. Everybody who writes waits for it.
const sweepBatch = 200

// Swept says what a sweep deleted.
type Swept struct {
	Messages, Turns, Entries, Summaries, Usage, Blocks int64
}

// Sweep deletes what is over: finished messages and turns after 7 days, history and summaries older than retention
// (0 keeps them), what turns used after 400 days, blocks that ended, conversations of which nothing is left. What is
// unfinished stays, however old, and so does a chosen model.
//
// It does so in small transactions. Between two of them it pauses for as long as the last one took, and until that is
// out of the log, so that others write in between. After an error it returns what was deleted before.
func (s *Store) Sweep(ctx context.Context, now time.Time, retention time.Duration) (done Swept, err error) {
	var others int64 // sessions and conversations
	steps := sweepSteps(&done, &others, now, retention)
	for first := true; ; first = false {
		rows, found, err := s.over(ctx, steps)
		if err != nil || found == 0 && !first {
			return done, err
		}
		began := time.Now()
		deleted, err := s.sweepRows(ctx, steps, rows)
		if err != nil || found == 0 || deleted == 0 {
			return done, err
		}
		if err := pause(ctx, time.Since(began)); err != nil {
			return done, err
		}
	}
}

// sweepStep deletes rows of one kind that are over at a time, and counts them.
type sweepStep struct {
	deleted      *int64
	list, delete string
	at           int64
}

// sweepSteps come in the order in which rows are over: the last ones are those that others have left.
func sweepSteps(done *Swept, others *int64, now time.Time, retention time.Duration) []sweepStep {
	before := func(d time.Duration) int64 { return now.Add(-d).UnixMilli() }
	steps := []sweepStep{
		{&done.Messages, listOverInbox, sweepInbox, before(keyLife)},
		{&done.Turns, listOverTurns, sweepTurns, before(keyLife)},
		{&done.Usage, listOverUsage, sweepUsage, before(usageLife)},
		{&done.Blocks, "", sweepBlocks, before(0)},
	}
	if retention > 0 {
		steps = append(steps,
			sweepStep{&done.Entries, listOverEntries, sweepEntries, before(retention)},
			sweepStep{&done.Summaries, listOverSummaries, sweepSummaries, before(retention)})
	}
	return append(steps,
		sweepStep{others, listOverSessions, sweepSessions, math.MaxInt64},
		sweepStep{others, listOverConversations, sweepConversations, math.MaxInt64})
}

// over lists rows of each step, sweepBatch at most. Nobody who writes waits for that.
func (s *Store) over(ctx context.Context, steps []sweepStep) (ids [][]any, found int, err error) {
	err = s.view(ctx, "sweep", func(t *tx) {
		ids, found = make([][]any, len(steps)), 0
		for i, step := range steps {
			if step.list != "" {
				ids[i] = rows(t, value[any], step.list, step.at, int64(sweepBatch-found))
				found += len(ids[i])
			}
		}
	})
	return ids, found, err
}

// sweepRows deletes listed rows, and what needs no list, in one transaction.
func (s *Store) sweepRows(ctx context.Context, steps []sweepStep, ids [][]any) (deleted int64, err error) {
	counts := make([]int64, len(steps))
	err = s.erase(ctx, "sweep", func(t *tx) {
		clear(counts)
		for i, step := range steps {
			if step.list == "" {
				counts[i] = int64(t.exec(step.delete, step.at))
			}
			for _, id := range ids[i] {
				counts[i] += int64(t.exec(step.delete, step.at, id))
			}
		}
	})
	if err != nil {
		return 0, err
	}
	for i, n := range counts {
		*steps[i].deleted += n
		deleted += n
	}
	return deleted, nil
}

// pause waits for d or the end of ctx, which it returns.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
