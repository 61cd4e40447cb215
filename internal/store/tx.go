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

// tx is one transaction. All its statements use the same time. After the first error its methods do nothing and
// return zero values, and the transaction fails with that error.
type tx struct {
	on  statements
	ctx context.Context //nolint:containedctx // of the call
	now int64
	log *slog.Logger
	err error
}

// update runs do in a transaction that may write. After a failure do may run again.
func (s *Store) update(ctx context.Context, what string, do func(*tx)) error {
	return s.explain(ctx, what, s.write(ctx, "write", &call{do: do}))
}

// write runs a transaction that may write, and reports its duration.
func (s *Store) write(ctx context.Context, kind string, c *call) error {
	began := time.Now()
	err := s.by.run(ctx, c)
	s.observe(kind, time.Since(began))
	return err
}

// erase is like update, for data that must not be readable in the store's files afterwards. If a reader prevents
// that, erase returns after eraseWait. The checkpointer keeps trying, and logs if it takes longer than eraseLate.
func (s *Store) erase(ctx context.Context, what string, do func(*tx)) error {
	c := &call{do: do, erases: true}
	if err := s.write(ctx, "erase", c); err != nil {
		return s.explain(ctx, what, err)
	}
	s.by.log.waitErased(ctx, c.erasure)
	return nil
}

// view runs do in a transaction that sees one consistent state of the store. After a failure do may run again.
func (r *Reader) view(ctx context.Context, what string, do func(*tx)) error {
	began := time.Now()
	defer func() { r.observe("read", time.Since(began)) }()
	if r.views != nil {
		return r.explain(ctx, what, r.views.run(ctx, do))
	}
	return r.explain(ctx, what, r.viewOnce(ctx, do))
}

// viewOnce runs a transaction like view, on a read-only connection of the pool.
func (r *Reader) viewOnce(ctx context.Context, do func(*tx)) error {
	t, err := r.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	if err := r.do(ctx, t, do); err != nil {
		_ = t.Rollback() // the first error is returned; an open transaction is rolled back with the connection
		return err
	}
	return t.Commit()
}

// do runs the statements of a transaction that has begun. It turns a panic into an error, so that the panic fails only
// this call and not the daemon.
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

// resultOf runs a transaction with view, update or a similar function, and returns do's result, or the zero
// value after an error.
func resultOf[T any](ctx context.Context, run func(context.Context, string, func(*tx)) error, what string, do func(*tx) T) (T, error) {
	var out, none T
	if err := run(ctx, what, func(t *tx) { out = do(t) }); err != nil {
		return none, err
	}
	return out, nil
}

// fail makes the transaction fail, unless it has failed already.
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

// all runs statements that share their arguments.
func (t *tx) all(queries []string, args ...any) {
	for _, q := range queries {
		t.exec(q, args...)
	}
}

// first reads the only row of a query into dest and reports whether there is one.
func (t *tx) first(dest []any, query string, args ...any) (found bool) {
	return len(rows(t, func(*struct{}) []any { return dest }, query, args...)) > 0
}

// rows returns the rows of a query. dest returns the fields of a T for the columns.
func rows[T any](t *tx, dest func(*T) []any, query string, args ...any) []T {
	return slices.Collect(each(t, dest, query, args...))
}

// each yields the rows one by one. The loop body must not use the transaction.
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

// value returns the destination for queries with one column.
func value[T any](v *T) []any { return []any{v} }

// storedTime scans a time that millis stored.
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

// millis returns the stored form of t; the zero time is 0.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// timeOf returns the time for a value stored by millis.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
