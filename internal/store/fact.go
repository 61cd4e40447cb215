package store

import (
	"context"
	"strconv"

	"telex/internal/chat"
)

// Facts returns the facts that a person asked to be remembered, oldest first.
func (r *Reader) Facts(ctx context.Context, p chat.Person) ([]chat.Fact, error) {
	return resultOf(ctx, r.view, "read facts", func(t *tx) []chat.Fact {
		return rows(t, func(f *chat.Fact) []any { return []any{&f.ID, &f.Text, (*storedTime)(&f.At)} }, listFacts, p.Endpoint, p.User)
	})
}

// Remember stores a fact for a person and returns it with its id and time. Retention does not apply to facts.
// Ids are numbers that count up per person and are never reused.
func (s *Store) Remember(ctx context.Context, p chat.Person, text string) (chat.Fact, error) {
	return resultOf(ctx, s.update, "remember fact", func(t *tx) chat.Fact {
		var number int64
		t.first([]any{&number}, takeFactNumber, p.Endpoint, p.User)
		t.exec(addFact, p.Endpoint, p.User, number, text, t.now)
		return chat.Fact{ID: strconv.FormatInt(number, 10), Text: text, At: timeOf(t.now)}
	})
}

// ForgetFact deletes one of a person's facts and reports whether it existed.
func (s *Store) ForgetFact(ctx context.Context, p chat.Person, id string) (bool, error) {
	return resultOf(ctx, s.erase, "forget fact", func(t *tx) bool { return t.exec(deleteFact, p.Endpoint, p.User, id) > 0 })
}

// ForgetFacts deletes all facts of a person and returns their number.
func (s *Store) ForgetFacts(ctx context.Context, p chat.Person) (int, error) {
	return resultOf(ctx, s.erase, "forget facts", func(t *tx) int { return t.exec(deleteFacts, p.Endpoint, p.User) })
}
