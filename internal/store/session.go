package store

import (
	"context"
	"database/sql"

	"telex/internal/chat"
)

// History returns the entries of a conversation, oldest first, as they were given. The result is the caller's.
func (r *Reader) History(ctx context.Context, c chat.Conversation) (entries [][]byte, err error) {
	err = r.view(ctx, "read history", func(t *tx) error {
		entries = nil
		id, err := t.find(ctx, c)
		if err != nil {
			return err
		}
		return t.each(ctx, func(rows *sql.Rows) error {
			var body []byte
			err := rows.Scan(&body)
			entries = append(entries, body)
			return err
		}, listEntries, id)
	})
	return entries, err
}

// Forget deletes the history of a conversation. The turns that are running, that of the command which asked for it
// included, can't add to it any more: their Decide fails with ErrFenced, their End drops the history it is given.
// The keys of messages stay, so that none is answered twice.
func (s *Store) Forget(ctx context.Context, c chat.Conversation) error {
	return s.update(ctx, "forget history", func(t *tx) error {
		id, err := t.take(ctx, c)
		if err != nil {
			return err
		}
		if _, err := t.exec(ctx, deleteEntries, id); err != nil {
			return err
		}
		_, err = t.exec(ctx, fenceTurns, id)
		return err
	})
}

func (t *tx) appendEntries(ctx context.Context, conversation int64, entries [][]byte) error {
	for _, body := range entries {
		if _, err := t.exec(ctx, addEntry, conversation, string(body), t.now); err != nil {
			return err
		}
	}
	return nil
}
