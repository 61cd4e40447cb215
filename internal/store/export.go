package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"telex/internal/chat"
)

// Tables gives access to all data of a store as it was at one moment, in order to copy the data into another database.
type Tables struct{ t *tx }

// Export calls the function use with the tables of the store and returns the error of this call. Export fails with
// ErrOlder if the store's schema is not up to date.
func (r *Reader) Export(ctx context.Context, use func(Tables) error) error {
	var refused error // the error of the function use; the export itself has not failed
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

// Rows yields the rows of a query, with values as SQLite stores them. The parameter columns is the query's number of
// columns. If the query fails, Rows stops, and the method Err returns the error.
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

// Err returns the first error of all queries so far.
func (ts Tables) Err() error { return ts.t.err }

// Count returns the number of rows in a table.
func (ts Tables) Count(table string) (n int64) {
	ts.t.first([]any{&n}, fmt.Sprintf("SELECT COUNT(*) FROM %q", table))
	return n
}

// NewestID returns the row id that a table has assigned last, even if this row has been deleted.
func (ts Tables) NewestID(table string) (n int64) {
	ts.t.first([]any{&n}, "SELECT seq FROM sqlite_sequence WHERE name = ?", table)
	return n
}

// IsQuestion reports whether a history entry is a message of a user, not of a model or a tool.
func IsQuestion(e chat.Entry) bool {
	var m struct {
		Role string `json:"role"`
	}
	return json.Unmarshal(e.Body, &m) == nil && m.Role == "user"
}
