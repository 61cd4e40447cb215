package store

import (
	"context"

	"telex/internal/chat"
)

// SaveBlock stores a chat.Block, which forbids calls because of a rate limit. If a block is already stored, SaveBlock
// can only prolong it.
func (s *Store) SaveBlock(ctx context.Context, e chat.EndpointID, b chat.Block) error {
	return s.update(ctx, "store block", func(t *tx) {
		t.exec(saveBlock, e, int64(b.Scope), int64(b.Ops), b.Chat, b.Thread, b.Message, millis(b.Until))
	})
}

// Blocks returns the rate-limit blocks of an endpoint that have not ended.
func (r *Reader) Blocks(ctx context.Context, e chat.EndpointID) ([]chat.Block, error) {
	return resultOf(ctx, r.view, "read blocks", func(t *tx) []chat.Block {
		return rows(t, func(b *chat.Block) []any {
			return []any{&b.Scope, &b.Ops, &b.Chat, &b.Thread, &b.Message, (*storedTime)(&b.Until)}
		}, listBlocks, e, t.now)
	})
}
