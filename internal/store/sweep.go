package store

import (
	"context"
	"math"
	"time"
)

// KeyLife is how long the store keeps the ids of finished messages and of the bot's answers. By the ids of finished
// messages, the store recognizes messages that a platform delivers again. Telegram repeats updates for 24 hours
// (https://core.telegram.org/bots/api#getting-updates), WhatsApp for 7 days, and no other platform for longer.
const KeyLife = 7*24*time.Hour + time.Hour

// UsageLife is how long the store keeps usage: long enough for the sum of a full year.
const UsageLife = 400 * 24 * time.Hour

// ResponseLife is how long clients can refer to a response of the API server. OpenAI keeps responses equally long
// (https://platform.openai.com/docs/guides/conversation-state).
const ResponseLife = 30 * 24 * time.Hour

// sweepBatch is the maximum number of rows that one transaction of a sweep deletes. All writers wait while such a
// transaction runs.
const sweepBatch = 200

// Swept contains the numbers of rows that a sweep deleted.
type Swept struct {
	Messages, Turns, Entries, Summaries, Usage, Blocks, Responses int64
}

// Sweep deletes expired data. Sweep deletes finished messages and turns after 7 days, and usage after 400 days. Sweep
// deletes history and summaries that are older than retention; if retention is 0, Sweep keeps them. Sweep deletes
// responses after 30 days, or after retention if retention is shorter and not 0. Sweep also deletes rate-limit blocks
// that have ended, and empty conversations. Sweep keeps unfinished messages, unfinished turns and chosen models,
// however old they are.
//
// Sweep uses small transactions, so that other calls can write to the store between them. After each transaction,
// Sweep waits until the write-ahead log is empty, but at most eraseWait, and then pauses for as long as the
// transaction took. If a transaction fails, Sweep returns the error and the numbers of the rows deleted so far.
func (s *Store) Sweep(ctx context.Context, now time.Time, retention time.Duration) (done Swept, err error) {
	var others int64 // number of deleted sessions and conversations, which the result of Sweep does not contain
	steps := sweepSteps(&done, &others, now, retention)
	for first := true; ; first = false {
		rows, found, err := s.listExpired(ctx, steps)
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

// sweepStep deletes the expired rows of one table and counts them.
type sweepStep struct {
	deleted      *int64
	list, delete string
	at           int64
}

// sweepSteps returns the steps of a sweep in the order in which they must run: a step may delete rows that became
// unused by an earlier step.
func sweepSteps(done *Swept, others *int64, now time.Time, retention time.Duration) []sweepStep {
	before := func(d time.Duration) int64 { return now.Add(-d).UnixMilli() }
	steps := []sweepStep{
		{&done.Messages, listOverInbox, sweepInbox, before(KeyLife)},
		{&done.Turns, listOverTurns, sweepTurns, before(KeyLife)},
		{&done.Usage, listOverUsage, sweepUsage, before(UsageLife)},
		{&done.Blocks, "", sweepBlocks, before(0)},
	}
	kept := ResponseLife
	if retention > 0 {
		kept = min(kept, retention)
	}
	steps = append(steps, sweepStep{&done.Responses, listOverResponses, sweepResponses, before(kept)})
	if retention > 0 {
		steps = append(steps,
			sweepStep{&done.Entries, listOverEntries, sweepEntries, before(retention)},
			sweepStep{&done.Summaries, listOverSummaries, sweepSummaries, before(retention)})
	}
	return append(steps,
		sweepStep{others, listOverSessions, sweepSessions, math.MaxInt64},
		sweepStep{others, listOverConversations, sweepConversations, math.MaxInt64})
}

// listExpired lists the expired rows for all steps of a sweep, at most sweepBatch in total. listExpired only reads, so
// writers don't wait for it.
func (s *Store) listExpired(ctx context.Context, steps []sweepStep) (ids [][]any, found int, err error) {
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

// sweepRows deletes the listed rows in one transaction. In the same transaction, sweepRows runs the steps that have no
// list query.
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

// pause waits until the duration d has passed. If ctx ends earlier, pause returns the error of ctx.
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
