package store

import (
	"context"
	"fmt"
	"time"

	"telex/internal/chat"
)

// SessionInfo describes the stored data of a conversation.
type SessionInfo struct {
	Conversation chat.Conversation
	Entries      int       // includes summarized entries
	Newest       time.Time // when the newest entry was stored; zero: there is no entry
	Summary      bool      // a summary exists
	Model        string    // name of the chosen model
	Tokens       int       // prompt and completion tokens of all turns, even of turns whose entries were deleted
}

// Sessions returns the conversations that have entries, a summary or a chosen model, ordered by their newest entry.
// Sessions fails with ErrOlder if the store's schema is not up to date.
func (r *Reader) Sessions(ctx context.Context) ([]SessionInfo, error) {
	return resultOf(ctx, r.viewCurrent, "list sessions", func(t *tx) []SessionInfo {
		return rows(t, func(s *SessionInfo) []any {
			c := &s.Conversation
			return []any{&c.Endpoint, &c.Chat, &c.Thread, &s.Entries, (*storedTime)(&s.Newest), &s.Summary, &s.Model, &s.Tokens}
		}, listSessions)
	})
}

// Transcript is like Session, but it also returns the entries that are summarized. Transcript fails with ErrOlder if
// the store's schema is not up to date.
func (r *Reader) Transcript(ctx context.Context, c chat.Conversation) (s chat.Session, entries []chat.Entry, err error) {
	err = r.viewCurrent(ctx, "read transcript", func(t *tx) {
		id := t.find(c)
		s, entries = t.session(id), t.entries(id, 0)
	})
	return s, entries, err
}

// viewCurrent is like view, but fails with ErrOlder if the store's schema is not up to date.
func (r *Reader) viewCurrent(ctx context.Context, what string, do func(*tx)) error {
	if r.views == nil {
		has, err := version(ctx, r.read)
		if err != nil {
			return r.explain(ctx, what, err)
		}
		if knows := latest(); has < knows {
			return fmt.Errorf("%s: %s is %w (schema %d, this one knows %d): start this telex once, which updates it",
				what, r.path, ErrOlder, has, knows)
		}
	}
	return r.view(ctx, what, do)
}
