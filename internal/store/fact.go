package store

import (
	"context"
	"database/sql"
	"strconv"

	"telex/internal/chat"
)

// Facts returns what a person asked to be remembered, oldest first.
func (r *Reader) Facts(ctx context.Context, p chat.Person) (facts []chat.Fact, err error) {
	err = r.view(ctx, "read facts", func(t *tx) error {
		facts = nil
		return t.each(ctx, func(rows *sql.Rows) error {
			var f chat.Fact
			var number, at int64
			err := rows.Scan(&number, &f.Text, &at)
			f.ID, f.At = factID(number), instant(at)
			facts = append(facts, f)
			return err
		}, listFacts, p.Endpoint, p.User)
	})
	return facts, err
}

// Remember stores a fact for a person, and returns it with its ID and time. It stays until it is forgotten, however
// long other things are kept. IDs are numbers that count up for each person; none is used again.
func (s *Store) Remember(ctx context.Context, p chat.Person, text string) (f chat.Fact, err error) {
	err = s.update(ctx, "remember fact", func(t *tx) error {
		var number int64
		if _, err := t.first(ctx, []any{&number}, takeFactNumber, p.Endpoint, p.User); err != nil {
			return err
		}
		f = chat.Fact{ID: factID(number), Text: text, At: instant(t.now)}
		_, err := t.exec(ctx, addFact, p.Endpoint, p.User, number, text, t.now)
		return err
	})
	if err != nil {
		return chat.Fact{}, err
	}
	return f, nil
}

// ForgetFact deletes one of a person's facts and says whether it was there.
func (s *Store) ForgetFact(ctx context.Context, p chat.Person, id string) (was bool, err error) {
	err = s.erase(ctx, "forget fact", func(t *tx) error {
		n, err := t.exec(ctx, deleteFact, p.Endpoint, p.User, id)
		was = n > 0
		return err
	})
	return was && err == nil, err
}

// ForgetFacts deletes all facts of a person and returns how many there were.
func (s *Store) ForgetFacts(ctx context.Context, p chat.Person) (n int, err error) {
	err = s.erase(ctx, "forget facts", func(t *tx) error {
		deleted, err := t.exec(ctx, deleteFacts, p.Endpoint, p.User)
		n = int(deleted)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func factID(number int64) string { return strconv.FormatInt(number, 10) }
