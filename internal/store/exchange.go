package store

import (
	"context"

	"telex/internal/chat"
)

// MaxChain is the maximum number of responses that the method Responses returns: the newest responses of a
// conversation.
const MaxChain = 1000

// SaveExchange stores a turn of the API server after the turn has ended: its usage, its additions to the session and
// its response. SaveExchange stores all of this data in one transaction. If the history that the turn read has been
// deleted meanwhile, SaveExchange stores only the usage and the response.
func (s *Store) SaveExchange(ctx context.Context, x chat.Exchange) error {
	return s.update(ctx, "store turn "+x.Turn, func(t *tx) {
		row, grown := TurnRow{Conversation: t.ensure(x.Conversation), User: x.User}, x.Growth
		var found int64
		if x.After > 0 && !t.first([]any{&found}, findEntry, x.After, row.Conversation) {
			grown = chat.Growth{Usage: grown.Usage}
		}
		t.grow(x.Turn, row, grown)
		if r := x.Response; r != nil {
			t.exec(saveResponse, r.ID, x.Conversation.Endpoint, x.User, r.Previous, string(r.Body), string(r.Messages), t.now)
		}
	})
}

// Responses returns a person's response and the earlier responses of the same conversation, oldest first. If the
// response does not exist, Responses returns an empty list. If one of the earlier responses was deleted, the list
// begins after the deleted response.
func (r *Reader) Responses(ctx context.Context, p chat.Person, id string) ([]chat.Response, error) {
	return resultOf(ctx, r.view, "read responses", func(t *tx) (chain []chat.Response) {
		for len(chain) < MaxChain && id != "" {
			r := chat.Response{ID: id}
			if !t.first([]any{&r.Previous, &r.Body, &r.Messages, (*storedTime)(&r.At)}, findResponse, id, p.Endpoint, p.User) {
				break
			}
			chain = append([]chat.Response{r}, chain...)
			id = r.Previous
		}
		return chain
	})
}

// DeleteResponse deletes a response of a person, and reports whether the response existed.
func (s *Store) DeleteResponse(ctx context.Context, p chat.Person, id string) (bool, error) {
	return resultOf(ctx, s.erase, "delete response", func(t *tx) bool { return t.exec(deleteResponse, id, p.Endpoint, p.User) > 0 })
}
