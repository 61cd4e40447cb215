package store

import (
	"context"
	"database/sql"

	"telex/internal/chat"
)

// SaveBlock stores a block. One that is known already is only ever prolonged.
func (s *Store) SaveBlock(ctx context.Context, e chat.EndpointID, b chat.Block) error {
	return s.update(ctx, "store block", func(t *tx) error {
		_, err := t.exec(ctx, saveBlock, e, int64(b.Scope), int64(b.Ops), b.Chat, b.Thread, b.Message, millis(b.Until))
		return err
	})
}

// Blocks returns the blocks of an endpoint that still hold.
func (r *Reader) Blocks(ctx context.Context, e chat.EndpointID) (blocks []chat.Block, err error) {
	err = r.view(ctx, "read blocks", func(t *tx) error {
		blocks = nil
		return t.each(ctx, func(rows *sql.Rows) error {
			var b chat.Block
			var until int64
			err := rows.Scan(&b.Scope, &b.Ops, &b.Chat, &b.Thread, &b.Message, &until)
			b.Until = instant(until)
			blocks = append(blocks, b)
			return err
		}, listBlocks, e, t.now)
	})
	return blocks, err
}
