package postgres

import (
	"context"
	"time"

	"telex/internal/store"
)

// sweepBatch is the maximum number of rows that one transaction of a sweep deletes.
const sweepBatch = 200

// tokenLife is how long the tokens of calls are kept. A call with an unknown outcome is repeated within minutes, or
// never. The age of a token is measured by the server's clock.
const tokenLife = 24 * time.Hour

// Sweep deletes expired data: finished messages and turns after 7 days, history and summaries after retention (0
// keeps them), responses after retention but at most 30 days, and usage after 400 days. It also deletes rate-limit
// blocks that have ended, and empty conversations. Unfinished messages and turns stay, however old, and so does a
// chosen model.
//
// Sweep uses small transactions, which don't wait for locked rows. After each transaction it pauses for as long as
// the transaction took. After an error it returns what was already deleted.
func (s *Store) Sweep(ctx context.Context, now time.Time, retention time.Duration) (done store.Swept, err error) {
	var others int64 // numbers of sessions and conversations, which the result does not contain
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

// sweepSteps returns the steps in their order: a later step deletes rows that an earlier one has made unused.
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
