package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"
)

// statements runs SQL statements.
type statements interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// tx is one transaction. All statements of a tx see the same current time. After the first error, the methods of tx do
// nothing and return zero values, and the transaction fails with this error.
type tx struct {
	on  statements
	ctx context.Context //nolint:containedctx // the context of the call
	now int64
	log *slog.Logger
	err error
}

// update runs the function do in a transaction that may write. If the transaction fails, update may run the function do
// again.
func (s *Store) update(ctx context.Context, what string, do func(*tx)) error {
	return s.explain(ctx, what, s.write(ctx, "write", &call{do: do}))
}

// write runs a transaction that may write, and passes its duration to Options.Observe.
func (s *Store) write(ctx context.Context, kind string, c *call) error {
	began := time.Now()
	err := s.by.run(ctx, c)
	s.observe(kind, time.Since(began))
	return err
}

// erase is like update, but also makes the deleted data unreadable in the store's files. If a reader of the store
// prevents the erasure, erase returns after eraseWait. The checkpointer then keeps trying to erase the data, and logs a
// delay of more than eraseLate.
func (s *Store) erase(ctx context.Context, what string, do func(*tx)) error {
	c := &call{do: do, erases: true}
	if err := s.write(ctx, "erase", c); err != nil {
		return s.explain(ctx, what, err)
	}
	s.by.log.waitErased(ctx, c.erasure)
	return nil
}

// view runs the function do in a transaction that sees one consistent state of the store. If the transaction fails,
// view may run the function do again.
func (r *Reader) view(ctx context.Context, what string, do func(*tx)) error {
	began := time.Now()
	defer func() { r.observe("read", time.Since(began)) }()
	if r.views != nil {
		return r.explain(ctx, what, r.views.run(ctx, do))
	}
	return r.explain(ctx, what, r.viewOnce(ctx, do))
}

// viewOnce is like view, but uses a read-only connection of the pool and runs the function do only once.
func (r *Reader) viewOnce(ctx context.Context, do func(*tx)) error {
	t, err := r.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	if err := r.do(ctx, t, do); err != nil {
		_ = t.Rollback() // ignore this error, because the first one is returned; closing the connection also rolls back
		return err
	}
	return t.Commit()
}

// do runs the function do in a transaction that has begun. If the function do panics, the method returns an error, so
// that the panic makes only this call fail and not the whole daemon.
func (r *Reader) do(ctx context.Context, on statements, do func(*tx)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	t := &tx{on: on, ctx: ctx, now: r.now().UnixMilli(), log: r.log}
	do(t)
	return t.err
}

// resultOf calls the function run with the function do, and returns the result of do. The function run is view, update
// or a similar method. After an error, resultOf returns the zero value.
func resultOf[T any](ctx context.Context, run func(context.Context, string, func(*tx)) error, what string, do func(*tx) T) (T, error) {
	var out, none T
	if err := run(ctx, what, func(t *tx) { out = do(t) }); err != nil {
		return none, err
	}
	return out, nil
}

// fail makes the transaction fail with err, unless it has already failed.
func (t *tx) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) int {
	if t.err != nil {
		return 0
	}
	res, err := t.on.ExecContext(t.ctx, query, args...)
	if err != nil {
		t.fail(err)
		return 0
	}
	n, err := res.RowsAffected()
	if err != nil {
		t.fail(err)
	}
	return int(n)
}

// all runs several statements that have the same arguments.
func (t *tx) all(queries []string, args ...any) {
	for _, q := range queries {
		t.exec(q, args...)
	}
}

// first reads the only row of a query into dest, and reports whether there is a row.
func (t *tx) first(dest []any, query string, args ...any) (found bool) {
	return len(rows(t, func(*struct{}) []any { return dest }, query, args...)) > 0
}

// rows returns the rows of a query. For each row, the function dest returns pointers to the fields of a T, one for each
// column.
func rows[T any](t *tx, dest func(*T) []any, query string, args ...any) []T {
	return slices.Collect(each(t, dest, query, args...))
}

// each yields the rows of a query one by one. The body of the loop over the rows must not use the transaction.
func each[T any](t *tx, dest func(*T) []any, query string, args ...any) iter.Seq[T] {
	return func(yield func(T) bool) {
		if t.err != nil {
			return
		}
		found, err := t.on.QueryContext(t.ctx, query, args...)
		if err != nil {
			t.fail(err)
			return
		}
		for more := true; more && found.Next(); {
			var row T
			if err = found.Scan(dest(&row)...); err != nil {
				break
			}
			more = yield(row)
		}
		if err := errors.Join(err, found.Err(), found.Close()); err != nil {
			t.fail(err)
		}
	}
}

// value returns the pointer v as the destination of a query that has only one column.
func value[T any](v *T) []any { return []any{v} }

// storedTime scans a time that was stored with millis.
type storedTime time.Time

// Scan implements sql.Scanner.
func (s *storedTime) Scan(column any) error {
	ms, ok := column.(int64)
	if !ok {
		return fmt.Errorf("a time is stored as %T", column)
	}
	*s = storedTime(timeOf(ms))
	return nil
}

// millis converts a time to a column value: milliseconds since 1970, or 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// timeOf is the inverse of millis.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
