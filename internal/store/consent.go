package store

import (
	"context"

	"telex/internal/chat"
)

// Consent stores a permanent approval: from now on, when this person asks something in this conversation, the tool may
// run without a question for approval. The method Forget deletes the approvals of everybody in the conversation. The
// methods Erase and DeletePerson delete the approvals of a person.
func (s *Store) Consent(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) error {
	return s.update(ctx, "store consent", func(t *tx) { t.exec(saveConsent, t.ensure(c), u, tool) })
}

// Consented reports whether a permanent approval is stored. If a permanent approval is stored, the tool may run without
// a question for approval when this person asks something in this conversation.
func (r *Reader) Consented(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) (bool, error) {
	return resultOf(ctx, r.view, "read consent", func(t *tx) bool {
		var n int64
		t.first([]any{&n}, countConsents, t.find(c), u, tool)
		return n > 0
	})
}
