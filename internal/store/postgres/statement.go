package postgres

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// fail makes the transaction fail with err, unless it has already failed.
func (t *tx) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) int { return t.execBehind(&pgx.Batch{}, query, args...) }

// execBehind is like exec, but in the same round trip, it first runs the queries in the batch b.
func (t *tx) execBehind(b *pgx.Batch, query string, args ...any) int {
	changed := 0
	b.Queue(query, t.args(args)...).Exec(func(tag pgconn.CommandTag) error {
		changed = int(tag.RowsAffected())
		return nil
	})
	t.send(b)
	return changed
}

// queue adds a statement to the next round trip. The last round trip of a transaction also contains the COMMIT.
func (t *tx) queue(query string, args ...any) { t.queued.Queue(query, t.args(args)...) }

// all queues several statements that have the same arguments.
func (t *tx) all(queries []string, args ...any) {
	for _, q := range queries {
		t.queue(q, args...)
	}
}

// send runs the statements that were queued with the method queue, and then the queries in the batch b, in one round
// trip.
func (t *tx) send(b *pgx.Batch) {
	if t.err != nil {
		return
	}
	before := t.queued.QueuedQueries
	t.queued = &pgx.Batch{}
	if err := t.on.SendBatch(t.ctx, &pgx.Batch{QueuedQueries: slices.Concat(before, b.QueuedQueries)}).Close(); err != nil {
		t.fail(err)
		return
	}
	t.began = true
}

// row adds a query to the batch b, to read its first row. When the query runs, the row that it returns first is read
// into dest. If the query returns a row, found is set to true.
func (t *tx) row(b *pgx.Batch, found *bool, dest []any, query string, args ...any) {
	b.Queue(query, t.args(args)...).QueryRow(func(r pgx.Row) error {
		err := r.Scan(dest...)
		t.localize(dest)
		*found = err == nil
		return orNone(err)
	})
}

// list adds a query to the batch b, to read all its rows. When the query runs, the slice list is replaced by these
// rows.
func list[T any](t *tx, b *pgx.Batch, list *[]T, dest func(*T) []any, query string, args ...any) {
	b.Queue(query, t.args(args)...).Query(func(r pgx.Rows) (err error) {
		*list, err = scan(t, r, dest)
		return err
	})
}

// orNone returns nil if the error err means that a query found no row. orNone returns other errors unchanged.
func orNone(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

// first reads the first row of a query into dest, and reports whether there is a row.
func (t *tx) first(dest []any, query string, args ...any) (found bool) {
	return len(rows(t, func(*struct{}) []any { return dest }, query, args...)) > 0
}

// rows returns the rows of a query. For each row, the function dest returns pointers to the fields of a T, one for each
// column.
func rows[T any](t *tx, dest func(*T) []any, query string, args ...any) []T {
	var found []T
	b := &pgx.Batch{}
	list(t, b, &found, dest, query, args...)
	t.send(b)
	return found
}

// scan returns the rows of a query, or nil if the query found none.
func scan[T any](t *tx, found pgx.Rows, dest func(*T) []any) ([]T, error) {
	var none []T
	return pgx.AppendRows(none, found, func(row pgx.CollectableRow) (v T, err error) {
		fields := dest(&v)
		err = row.Scan(fields...)
		t.localize(fields)
		return v, err
	})
}

// value returns the pointer v as the destination of a query that has only one column.
func value[T any](v *T) []any { return []any{v} }

// args prepares the arguments of a query. args converts times to the server's clock. In strings, args replaces the
// characters that PostgreSQL can't store, which are U+0000 and invalid UTF-8. Only ids and names are passed as strings,
// and no known platform sends ids or names with characters that PostgreSQL can't store. But if a message contained such
// an id or name, and args did not replace these characters, the message could never be stored. The platform would then
// deliver the message again and again.
func (t *tx) args(args []any) []any {
	args = slices.Clone(args)
	for i, arg := range args {
		switch v := arg.(type) {
		case time.Time:
			args[i] = shifted(v, -t.ahead)
		case *time.Time:
			if v != nil {
				args[i] = shifted(*v, -t.ahead)
			}
		default:
			if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
				args[i] = cleanText(v.String())
			}
		}
	}
	return args
}

// localize converts the times in the fields of a row from the server's clock to this process's clock.
func (t *tx) localize(fields []any) {
	for _, f := range fields {
		if at, ok := f.(*time.Time); ok {
			*at = shifted(*at, t.ahead)
		}
	}
}

// shifted returns the time that is later than at by the duration d. The zero time means that there is no time, so
// shifted returns the zero time unchanged.
func shifted(at time.Time, d time.Duration) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(d)
}

func cleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\u2400")
}

// orNull converts a time to a column value. The zero time becomes the column value NULL.
func orNull(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}
