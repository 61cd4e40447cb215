package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"telex/internal/chat"
)

// Tables reads all data of a store at one moment, for a copy in another database.
type Tables struct{ t *tx }

// Export calls use with the tables, and returns its error. It fails with ErrOlder if the store's schema is not up to date.
func (r *Reader) Export(ctx context.Context, use func(Tables) error) error {
	var refused error // the error of use, if use has read without an error
	err := r.viewCurrent(ctx, "read store", func(t *tx) {
		if err := use(Tables{t}); t.err == nil {
			refused = err
		} else if err != nil {
			t.fail(err)
		}
	})
	if err != nil {
		return err
	}
	return refused
}

// Rows yields the rows of a query with this number of columns, as SQLite stores them. Err returns the query's error.
func (ts Tables) Rows(columns int, query string) iter.Seq[[]any] {
	type row struct{ values []any }
	dest := func(r *row) []any {
		r.values = make([]any, columns)
		out := make([]any, columns)
		for i := range out {
			out[i] = &r.values[i]
		}
		return out
	}
	return func(yield func([]any) bool) {
		for r := range each(ts.t, dest, query) {
			if !yield(r.values) {
				return
			}
		}
	}
}

// Err returns the first error of all queries.
func (ts Tables) Err() error { return ts.t.err }

// Count returns the number of rows in a table.
func (ts Tables) Count(table string) (n int64) {
	ts.t.first([]any{&n}, fmt.Sprintf("SELECT COUNT(*) FROM %q", table))
	return n
}

// NewestID returns the last number that a table assigned to a row, even if the row was deleted.
func (ts Tables) NewestID(table string) (n int64) {
	ts.t.first([]any{&n}, "SELECT seq FROM sqlite_sequence WHERE name = ?", table)
	return n
}

// IsQuestion reports whether an entry is a user's message.
func IsQuestion(e chat.Entry) bool {
	var m struct {
		Role string `json:"role"`
	}
	return json.Unmarshal(e.Body, &m) == nil && m.Role == "user"
}
