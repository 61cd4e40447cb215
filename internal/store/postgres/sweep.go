package postgres

import (
	"context"
	"time"

	"telex/internal/store"
)

// sweepBatch is how many rows one transaction of a sweep deletes.
const sweepBatch = 200

// tokenLife is how long the tokens of calls are kept. A call of unknown outcome is repeated within minutes, or never. Their time is
// the server's.
const tokenLife = 24 * time.Hour

// Sweep deletes expired data: finished messages and turns after 7 days, history and summaries older than retention (0 keeps
// them), responses after the same time but at most 30 days, usage after 400 days, ended blocks, and empty conversations.
// Unfinished messages and turns stay, however old, and so does a chosen model.
//
// It uses small transactions, which wait for no other, and pauses between two of them for as long as the last one took. After an
// error it returns what was already deleted.
func (s *Store) Sweep(ctx context.Context, now time.Time, retention time.Duration) (done store.Swept, err error) {
	var others int64 // sessions and conversations
	for _, step := range sweepSteps(&done, &others, now, retention) {
		for full := true; full; {
			began := time.Now()
			n, err := resultOf(ctx, s.erase, "sweep", func(t *tx) int { return t.exec(step.query, step.at, sweepBatch) })
			if err != nil {
				return done, err
			}
			*step.deleted += int64(n)
			if full = n == sweepBatch; full {
				if err := pause(ctx, time.Since(began)); err != nil {
					return done, err
				}
			}
		}
	}
	return done, nil
}

// sweepStep deletes rows of one kind that are older than a time, and counts them.
type sweepStep struct {
	deleted *int64
	query   string
	at      time.Time
}

// sweepSteps returns the steps in order: later steps delete rows that become unused by earlier ones.
func sweepSteps(done *store.Swept, others *int64, now time.Time, retention time.Duration) []sweepStep {
	responses := store.ResponseLife
	if retention > 0 {
		responses = min(responses, retention)
	}
	steps := []sweepStep{
		{&done.Messages, sweepInbox, now.Add(-store.KeyLife)},
		{&done.Turns, sweepTurns, now.Add(-store.KeyLife)},
		{&done.Usage, sweepUsage, now.Add(-store.UsageLife)},
		{&done.Blocks, sweepBlocks, now},
		{&done.Responses, sweepResponses, now.Add(-responses)},
	}
	if retention > 0 {
		steps = append(steps,
			sweepStep{&done.Entries, sweepEntries, now.Add(-retention)},
			sweepStep{&done.Summaries, sweepSummaries, now.Add(-retention)})
	}
	return append(steps, sweepStep{others, sweepTokens, time.Now().Add(-tokenLife)}, sweepStep{others, sweepPaces, time.Now().Add(-tokenLife)}, sweepStep{others, sweepSessions, now}, sweepStep{others, sweepConversations, now})
}
