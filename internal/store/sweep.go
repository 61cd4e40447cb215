package store

import (
	"context"
	"time"
)

// keyLife is how long a finished message stays known, and what was sent for it. No platform repeats an
// unacknowledged message for so long; Telegram keeps updates for 24 hours
// (https://core.telegram.org/bots/api#getting-updates), WhatsApp retries for 7 days.
const keyLife = 7*24*time.Hour + time.Hour

// usageLife is how long it stays known what a turn used: the longest time that anybody sums up is a year.
const usageLife = 400 * 24 * time.Hour

// Swept says what a sweep deleted.
type Swept struct {
	Messages, Turns, Entries, Summaries, Usage, Blocks int64
}

// Sweep deletes what is over: finished messages and turns after 7 days, history and summaries older than retention
// (0 keeps them), what turns used after 400 days, blocks that ended, conversations of which nothing is left. What is
// unfinished stays, however old, and so does a chosen model.
func (s *Store) Sweep(ctx context.Context, now time.Time, retention time.Duration) (done Swept, err error) {
	before := func(d time.Duration) int64 { return now.Add(-d).UnixMilli() }
	err = s.erase(ctx, "sweep", func(t *tx) error {
		done = Swept{}
		steps := []sweep{
			{&done.Messages, sweepInbox, before(keyLife)},
			{&done.Turns, sweepTurns, before(keyLife)},
			{&done.Usage, sweepUsage, before(usageLife)},
			{&done.Blocks, sweepBlocks, before(0)},
		}
		if retention > 0 {
			steps = append(steps,
				sweep{&done.Entries, sweepEntries, before(retention)}, sweep{&done.Summaries, sweepSummaries, before(retention)})
		}
		for _, s := range steps {
			if *s.deleted, err = t.exec(ctx, s.query, s.before); err != nil {
				return err
			}
		}
		return t.all(ctx, []string{sweepSessions, sweepConversations})
	})
	if err != nil {
		return Swept{}, err
	}
	return done, nil
}

// sweep deletes what is older than a time and counts it.
type sweep struct {
	deleted *int64
	query   string
	before  int64
}
