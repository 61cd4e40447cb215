package postgres

import (
	"context"
	"slices"

	"telex/internal/chat"
	"telex/internal/store"
)

// Used returns the sum of the token usage of the selected turns. Usage is kept for 400 days, even if Forget deletes
// the history.
func (s *Store) Used(ctx context.Context, of chat.UsageOf) (chat.Used, error) {
	return resultOf(ctx, s.view, "read usage", func(t *tx) (u chat.Used) {
		var conversation int64
		if of.Conversation != (chat.Conversation{}) {
			if conversation = t.find(of.Conversation); conversation == 0 {
				return u
			}
		}
		args := func() []any {
			return []any{conversation, of.Person.Endpoint, of.Person.User, orNull(of.From), orNull(of.To)}
		}
		t.first([]any{&u.Prompt, &u.Cached, &u.Completion, &u.Reasoning, &u.Calls, &u.Estimated, &u.Turns}, sumUsage, args()...)
		t.first([]any{&u.Last}, lastUsage, args()...)
		return u
	})
}

func (t *tx) saveUsage(turn string, row store.TurnRow, usage []chat.Usage) {
	where := row.Conversation
	if row.Fenced && row.User == "" && len(usage) > 0 { // the asker was deleted, so don't store the conversation
		var endpoint chat.EndpointID
		t.first([]any{&endpoint}, endpointOf, where)
		where = t.nowhere(endpoint)
	}
	for _, u := range usage {
		t.queue(addUsage, where, row.User, turn, u.Model, t.now, u.Prompt, u.Cached, u.Completion, u.Reasoning, u.Calls, u.Estimated)
	}
}

// Account adds up the token usage of turns. The store keeps usage for 400 days. If a person is deleted, the person's
// usage stays, but without the person's user id.
func (s *Store) Account(ctx context.Context, o store.AccountOptions) (store.Account, error) {
	return resultOf(ctx, s.view, "sum up usage", func(t *tx) store.Account {
		return o.Sum(slices.Values(rows(t, (*store.UsageRow).Columns, listUsage, orNull(o.From), orNull(o.To))))
	})
}

// SaveExchange stores a turn of the API server after the turn has ended: its usage, its additions to the session and
// its response. SaveExchange stores all of this data in one transaction. If the history that the turn read has been
// deleted meanwhile, SaveExchange stores only the usage and the response.
func (s *Store) SaveExchange(ctx context.Context, x chat.Exchange) error {
	what := "store turn " + x.Turn
	_, err := s.write(ctx, &call{what: what, kind: "write", once: true, key: what, do: func(t *tx) {
		row, grown := store.TurnRow{Conversation: t.hold(x.Conversation), User: x.User}, x.Growth
		if x.After > 0 {
			var known bool
			if t.first([]any{&known}, findEntry, x.After, row.Conversation); !known {
				grown = chat.Growth{Usage: grown.Usage}
			}
		}
		t.grow(x.Turn, row, grown)
		if r := x.Response; r != nil {
			t.queue(saveResponse, r.ID, x.Conversation.Endpoint, x.User, r.Previous, bytesOf(r.Body), bytesOf(r.Messages), t.now)
		}
	}})
	return err
}

// Responses returns a person's response and the earlier responses of the same conversation, oldest first. If the
// response does not exist, Responses returns an empty list. If one of the earlier responses was deleted, the list
// begins after the deleted response.
func (s *Store) Responses(ctx context.Context, p chat.Person, id string) ([]chat.Response, error) {
	return resultOf(ctx, s.view, "read responses", func(t *tx) []chat.Response {
		return rows(t, func(r *chat.Response) []any {
			return []any{&r.ID, &r.Previous, &r.Body, &r.Messages, &r.At}
		}, listChain, id, p.Endpoint, p.User, store.MaxChain)
	})
}

// DeleteResponse deletes a response of a person, and reports whether the response existed.
func (s *Store) DeleteResponse(ctx context.Context, p chat.Person, id string) (bool, error) {
	return resultOf(ctx, s.erase, "delete response", func(t *tx) bool { return t.exec(deleteResponse, id, p.Endpoint, p.User) > 0 })
}

// SaveBlock stores a chat.Block, which forbids calls because of a rate limit. If a block is already stored, SaveBlock
// can only prolong it.
func (s *Store) SaveBlock(ctx context.Context, e chat.EndpointID, b chat.Block) error {
	return s.update(ctx, "store block", func(t *tx) {
		t.queue(saveBlock, e, int64(b.Scope), int64(b.Ops), b.Chat, b.Thread, b.Message, b.Until)
		t.signal(0, chat.SignalBlocks)
	})
}

// Blocks returns the rate-limit blocks of an endpoint that have not ended.
func (s *Store) Blocks(ctx context.Context, e chat.EndpointID) ([]chat.Block, error) {
	return resultOf(ctx, s.view, "read blocks", func(t *tx) []chat.Block {
		return rows(t, func(b *chat.Block) []any {
			return []any{&b.Scope, &b.Ops, &b.Chat, &b.Thread, &b.Message, &b.Until}
		}, listBlocks, e, t.now)
	})
}
