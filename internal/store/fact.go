package store

import (
	"context"
	"strconv"

	"telex/internal/chat"
)

// Facts returns what a person asked to be remembered, oldest first.
func (r *Reader) Facts(ctx context.Context, p chat.Person) (facts []chat.Fact, err error) {
	err = r.view(ctx, "read facts", func(t *tx) {
		facts = rows(t, func(f *chat.Fact) []any { return []any{&f.ID, &f.Text, (*stored)(&f.At)} }, listFacts, p.Endpoint, p.User)
	})
	return facts, err
}

// Remember stores a fact for a person, and returns it with its ID and time. It stays until it is forgotten, however
// long other things are kept. IDs are numbers that count up for each person; none is used again.
func (s *Store) Remember(ctx context.Context, p chat.Person, text string) (f chat.Fact, err error) {
	err = s.update(ctx, "remember fact", func(t *tx) {
		var number int64
		t.first([]any{&number}, takeFactNumber, p.Endpoint, p.User)
		t.exec(addFact, p.Endpoint, p.User, number, text, t.now)
		f = chat.Fact{ID: strconv.FormatInt(number, 10), Text: text, At: instant(t.now)}
	})
	return result(&f, err)
}

// ForgetFact deletes one of a person's facts and says whether it was there.
func (s *Store) ForgetFact(ctx context.Context, p chat.Person, id string) (was bool, err error) {
	err = s.erase(ctx, "forget fact", func(t *tx) { was = t.exec(deleteFact, p.Endpoint, p.User, id) > 0 })
	return was && err == nil, err
}

// ForgetFacts deletes all facts of a person and returns how many there were.
func (s *Store) ForgetFacts(ctx context.Context, p chat.Person) (n int, err error) {
	err = s.erase(ctx, "forget facts", func(t *tx) { n = t.exec(deleteFacts, p.Endpoint, p.User) })
	return result(&n, err)
}
