package store

import (
	"context"
	"database/sql"
	"time"

	"telex/internal/chat"
)

// Block is a scope in which nothing may be sent until a time that the platform told.
type Block struct {
	Scope   chat.Scope
	Chat    chat.ChatID    // empty for the whole endpoint
	Message chat.MessageID // empty unless the scope is one message
	Until   time.Time
}

// SaveBlock stores a block. One that is known already is only ever prolonged.
func (s *Store) SaveBlock(ctx context.Context, e chat.EndpointID, sc chat.Scope, c chat.ChatID, m chat.MessageID, until time.Time) error {
	return s.update(ctx, "store block", func(t *tx) error {
		_, err := t.exec(ctx, saveBlock, e, int64(sc), c, m, millis(until))
		return err
	})
}

// Blocks returns the blocks of an endpoint that still hold.
func (r *Reader) Blocks(ctx context.Context, e chat.EndpointID) (blocks []Block, err error) {
	err = r.view(ctx, "read blocks", func(t *tx) error {
		return t.each(ctx, func(rows *sql.Rows) error {
			var b Block
			var until int64
			err := rows.Scan(&b.Scope, &b.Chat, &b.Message, &until)
			b.Until = instant(until)
			blocks = append(blocks, b)
			return err
		}, listBlocks, e, t.now)
	})
	return blocks, err
}
