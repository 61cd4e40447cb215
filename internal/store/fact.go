package store

import (
	"context"
	"strconv"

	"telex/internal/chat"
)

// Facts returns the facts that a person asked to be remembered, oldest first.
func (r *Reader) Facts(ctx context.Context, p chat.Person) ([]chat.Fact, error) {
	return resultOf(ctx, r.view, "read facts", func(t *tx) []chat.Fact { return t.facts(p) })
}

func (t *tx) facts(p chat.Person) []chat.Fact {
	return rows(t, func(f *chat.Fact) []any { return []any{&f.ID, &f.Text, (*storedTime)(&f.At)} }, listFacts, p.Endpoint, p.User)
}

// Remember stores a fact for a person, with an id and the time. Remember stores nothing if the person already has a
// fact with this text, or already has the maximum number of facts. The parameter most is this number. The facts that
// Remember stores do not expire. The ids of a person's facts are increasing numbers. The id of a deleted fact is not
// used again, unless DeletePerson deletes all data of the person.
func (s *Store) Remember(ctx context.Context, p chat.Person, text string, most int) (chat.Remembered, error) {
	return resultOf(ctx, s.update, "remember fact", func(t *tx) chat.Remembered {
		r := chat.Remember(t.facts(p), text, most)
		if !r.IsNew() {
			return r
		}
		var number int64
		t.first([]any{&number}, takeFactNumber, p.Endpoint, p.User)
		t.exec(addFact, p.Endpoint, p.User, number, text, t.now)
		r.Fact = chat.Fact{ID: strconv.FormatInt(number, 10), Text: text, At: timeOf(t.now)}
		return r
	})
}

// ForgetFact deletes a fact of a person, and reports whether the fact existed.
func (s *Store) ForgetFact(ctx context.Context, p chat.Person, id string) (bool, error) {
	return resultOf(ctx, s.erase, "forget fact", func(t *tx) bool { return t.exec(deleteFact, p.Endpoint, p.User, id) > 0 })
}

// ForgetFacts deletes all facts of a person, and returns how many it has deleted.
func (s *Store) ForgetFacts(ctx context.Context, p chat.Person) (int, error) {
	return resultOf(ctx, s.erase, "forget facts", func(t *tx) int { return t.exec(deleteFacts, p.Endpoint, p.User) })
}
