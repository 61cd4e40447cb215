package store

import (
	"context"

	"telex/internal/chat"
)

// Consent stores a permanent approval: requests of the person in the conversation may use a tool from now on. Forget
// deletes it for everybody in the conversation, Erase and DeletePerson for the person.
func (s *Store) Consent(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) error {
	return s.update(ctx, "store consent", func(t *tx) { t.exec(saveConsent, t.ensure(c), u, tool) })
}

// Consented reports whether a person's requests in a conversation may use a tool.
func (r *Reader) Consented(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) (bool, error) {
	return resultOf(ctx, r.view, "read consent", func(t *tx) bool {
		var n int64
		t.first([]any{&n}, countConsents, t.find(c), u, tool)
		return n > 0
	})
}
