package postgres

import (
	"context"
	"time"

	"telex/internal/store"
)

// sweepBatch is the maximum number of rows that one transaction of a sweep deletes.
const sweepBatch = 200

// tokenLife is how long the tokens of calls are kept, by the server's clock. If the outcome of a call is unknown, the
// store repeats the call within minutes or not at all.
const tokenLife = 24 * time.Hour

// Sweep deletes expired data. Sweep deletes finished messages and turns after 7 days, and usage after 400 days. Sweep
// deletes history and summaries that are older than retention; if retention is 0, Sweep keeps them. Sweep deletes
// responses after 30 days, or after retention if retention is shorter and not 0. Sweep also deletes rate-limit blocks
// that have ended, and empty conversations. Sweep keeps unfinished messages, unfinished turns and chosen models,
// however old they are.
//
// Sweep uses small transactions, which skip locked rows instead of waiting for them. After each transaction, Sweep
// pauses for as long as the transaction took. If a transaction fails, Sweep returns the error and the numbers of the
// rows deleted so far.
func (s *Store) Sweep(ctx context.Context, now time.Time, retention time.Duration) (done store.Swept, err error) {
	var others int64 // number of deleted sessions and conversations, which the result of Sweep does not contain
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

// sweepStep describes a query that deletes expired data from one table. The field at is the time before which data has
// expired.
type sweepStep struct {
	deleted *int64
	query   string
	at      time.Time
}

// sweepSteps returns the steps of a sweep in the order in which they must run: a step may delete rows that became
// unused by an earlier step.
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
