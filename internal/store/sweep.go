package store

import (
	"context"
	"time"
)

// keyLife is how long a finished message stays known, and what was sent for it. No platform repeats an
// unacknowledged message for so long; Telegram keeps updates for 24 hours
// (https://core.telegram.org/bots/api#getting-updates), WhatsApp retries for 7 days.
const keyLife = 7*24*time.Hour + time.Hour

// Swept says what a sweep deleted.
type Swept struct {
	Messages, Turns, Entries, Blocks int64
}

// Sweep deletes what is over: finished messages and turns after 7 days, history older than retention (0 keeps it),
// blocks that ended, conversations of which nothing is left. What is unfinished stays, however old.
func (s *Store) Sweep(ctx context.Context, now time.Time, retention time.Duration) (done Swept, err error) {
	err = s.update(ctx, "sweep", func(t *tx) error {
		over := now.Add(-keyLife).UnixMilli()
		if done.Messages, err = t.exec(ctx, sweepInbox, over); err != nil {
			return err
		}
		if done.Turns, err = t.exec(ctx, sweepTurns, over); err != nil {
			return err
		}
		if done.Blocks, err = t.exec(ctx, sweepBlocks, now.UnixMilli()); err != nil {
			return err
		}
		if retention > 0 {
			if done.Entries, err = t.exec(ctx, sweepEntries, now.Add(-retention).UnixMilli()); err != nil {
				return err
			}
		}
		_, err = t.exec(ctx, sweepConversations)
		return err
	})
	if err != nil {
		return Swept{}, err
	}
	return done, nil
}
