package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// callTimeout bounds one attempt at a transaction, also if the network swallows everything.
	callTimeout = 10 * time.Second
	// patience is how long a call waits for a database that is away: a server that restarts its processes after a crash is
	// back within a second. The callers wait for longer outages.
	patience = 2 * time.Second
	// maxConflicts is how often a transaction is repeated because of others.
	maxConflicts = 10
	// firstPause and maxPause limit the time between two attempts.
	firstPause = 10 * time.Millisecond
	maxPause   = 250 * time.Millisecond
)

// errLost: a connection broke before COMMIT was sent, so that nothing was changed.
var errLost = errors.New("connection lost")

// tx is one transaction. Its clock stands still. After the first error its methods do nothing and return zero values, and the
// transaction fails with that error.
type tx struct {
	on  *pgx.Conn
	ctx context.Context //nolint:containedctx // of the call
	now time.Time
	log *slog.Logger
	err error
}

// call is a writing transaction. do may run several times; only its last run counts.
type call struct {
	what   string
	kind   string // for Options.Observe
	key    string // a call with this key is the same call again; empty: repeating it does no harm, or nobody repeats it
	alone  bool   // no other writing transaction runs meanwhile
	do     func(*tx)
	result any    // of the last run of do
	xid    string // id of its transaction, if its COMMIT was sent
}

// update runs do in a transaction that may write.
func (s *Store) update(ctx context.Context, what string, do func(*tx)) error {
	_, err := s.write(ctx, &call{what: what, kind: "write", do: do})
	return err
}

// erase is update for calls that delete what was said.
func (s *Store) erase(ctx context.Context, what string, do func(*tx)) error {
	_, err := s.write(ctx, &call{what: what, kind: "erase", do: do})
	return err
}

// resultOf runs a transaction with view, update or a similar function, and returns do's result, or the zero value after an error.
func resultOf[T any](ctx context.Context, run func(context.Context, string, func(*tx)) error, what string, do func(*tx) T) (T, error) {
	var out, none T
	if err := run(ctx, what, func(t *tx) { out = do(t) }); err != nil {
		return none, err
	}
	return out, nil
}

// write runs a writing transaction and returns the call that took effect: c, or the same call made earlier.
func (s *Store) write(ctx context.Context, c *call) (*call, error) {
	began := time.Now()
	defer func() { s.told(c.kind, time.Since(began)) }()
	if earlier, err := s.resolveEarlier(ctx, c.key); earlier != nil || err != nil {
		return earlier, s.explain(ctx, c.what, err)
	}
	err := s.repeat(ctx, func() error { return s.attempt(ctx, c) })
	if errors.Is(err, errUncertain) && c.key != "" {
		s.mu.Lock()
		s.doubts[c.key] = c
		s.mu.Unlock()
	}
	return c, s.explain(ctx, c.what, err)
}

// view runs do in a transaction that sees one consistent state of the store. After a failure do may run again.
func (s *Store) view(ctx context.Context, what string, do func(*tx)) error {
	began := time.Now()
	defer func() { s.told("read", time.Since(began)) }()
	err := s.repeat(ctx, func() error {
		return s.onConnection(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			if _, err := conn.Exec(ctx, beginRead); err != nil {
				return err
			}
			err := s.run(ctx, conn, do)
			if _, end := conn.Exec(ctx, "ROLLBACK"); err == nil {
				err = end
			}
			return err
		})
	})
	return s.explain(ctx, what, err)
}

// repeat calls once until it succeeds, fails for good, or the patience is over.
func (s *Store) repeat(ctx context.Context, once func() error) error {
	deadline := time.Now().Add(patience)
	wait, conflicts := firstPause, 0
	for {
		err := once()
		switch {
		case err == nil:
			return nil
		case conflict(err):
			if conflicts++; conflicts > maxConflicts {
				return err
			}
		case errors.Is(err, errUncertain), !away(err), time.Now().After(deadline):
			return err
		}
		if pause(ctx, wait/2+rand.N(wait)) != nil {
			return err
		}
		wait = min(2*wait, maxPause)
	}
}

// pause waits for d or the end of ctx, and returns ctx's error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// onConnection runs do with a connection. Once it has one, it ignores the end of ctx, and takes callTimeout at most. If the
// connection breaks, the error wraps errLost.
func (s *Store) onConnection(ctx context.Context, do func(context.Context, *pgx.Conn) error) error {
	acquiring, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	conn, err := s.pool.Acquire(acquiring)
	switch {
	case err == nil:
	case s.isClosed():
		return errClosed
	case ctx.Err() == nil && acquiring.Err() != nil: // all connections hang
		return fmt.Errorf("%w: %w", errLost, err)
	default:
		return err
	}
	defer conn.Release()
	running, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	return lost(conn, do(running, conn.Conn()))
}

// lost marks an error after which the connection is closed. The server's own errors are kept: they say more.
func lost(conn *pgxpool.Conn, err error) error {
	if err == nil || !conn.Conn().IsClosed() || away(err) {
		return err
	}
	return fmt.Errorf("%w: %w", errLost, err)
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// attempt runs a writing transaction once. A COMMIT of unknown outcome is resolved.
func (s *Store) attempt(ctx context.Context, c *call) error {
	c.xid = ""
	err := s.onConnection(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		xid, err := s.begin(ctx, conn, c.alone)
		if err != nil {
			return err
		}
		if err := s.run(ctx, conn, c.do); err != nil {
			_, _ = conn.Exec(ctx, "ROLLBACK") // if that fails, the pool closes the connection, which rolls back
			return err
		}
		c.xid = xid
		tag, err := conn.Exec(ctx, "COMMIT")
		switch {
		case err == nil && tag.String() == "COMMIT", code(err) == "" && err != nil: // or the connection broke
			return err
		case err == nil:
			err = fmt.Errorf("commit: the server answered %s", tag)
		}
		if !away(err) { // PostgreSQL refused it
			c.xid = ""
		}
		return err
	})
	if err == nil || c.xid == "" {
		return err
	}
	return s.resolve(ctx, c, err)
}

// begin begins a writing transaction in one round trip, and returns its id. It fails if this process does not own the store
// any more.
func (s *Store) begin(ctx context.Context, conn *pgx.Conn, alone bool) (xid string, err error) {
	lock := lockShared
	if alone {
		lock = lockAlone
	}
	var epoch int64
	b := &pgx.Batch{}
	b.Queue("BEGIN")
	b.Queue(lock, lockClass, lockWriters).QueryRow(func(r pgx.Row) error { return r.Scan(&xid, nil) })
	b.Queue(findEpoch, ownerName).QueryRow(func(r pgx.Row) error { return r.Scan(&epoch) })
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		_, _ = conn.Exec(ctx, "ROLLBACK")
		return "", err
	}
	if err := s.owner.check(epoch); err != nil {
		_, _ = conn.Exec(ctx, "ROLLBACK")
		return "", err
	}
	return xid, nil
}

// resolveEarlier returns the earlier call with the key, if its outcome was unknown and it was committed.
func (s *Store) resolveEarlier(ctx context.Context, key string) (*call, error) {
	if key == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	s.mu.Lock()
	earlier := s.doubts[key]
	s.mu.Unlock()
	if earlier == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	err := s.resolve(ctx, earlier, errUncertain)
	if errors.Is(err, errUncertain) {
		return nil, err
	}
	s.mu.Lock()
	delete(s.doubts, key)
	s.mu.Unlock()
	if err != nil { // it was not committed
		return nil, nil //nolint:nilnil // as if there were none
	}
	s.log.Info("a change whose connection was lost had been stored", slog.String("change", earlier.what))
	return earlier, nil
}

// resolve asks the database whether a call was committed. It returns nil if it was, errLost if it was not, and errUncertain if the
// database does not know yet or does not answer.
func (s *Store) resolve(ctx context.Context, c *call, cause error) error {
	deadline := time.Now().Add(patience)
	for wait := firstPause; ; wait = min(2*wait, maxPause) {
		var status string
		err := s.onConnection(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			return conn.QueryRow(ctx, transactionStatus, c.xid).Scan(&status)
		})
		switch {
		case err == nil && status == "committed":
			return nil
		case err == nil && status == "aborted":
			return fmt.Errorf("%w: %w", errLost, cause)
		case err != nil && !away(err), time.Now().After(deadline), pause(ctx, wait) != nil:
			return fmt.Errorf("%w: %w", errUncertain, cause)
		}
	}
}

// run runs the statements of a transaction. It turns a panic into an error, so that it fails one call and not the daemon.
func (s *Store) run(ctx context.Context, conn *pgx.Conn, do func(*tx)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	t := &tx{on: conn, ctx: ctx, now: s.now().UTC().Truncate(time.Millisecond), log: s.log}
	do(t)
	return t.err
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
	tag, err := t.on.Exec(t.ctx, query, clean(args)...)
	if err != nil {
		t.fail(err)
	}
	return int(tag.RowsAffected())
}

// all runs statements that share their arguments, in one round trip.
func (t *tx) all(queries []string, args ...any) {
	if t.err != nil {
		return
	}
	b := &pgx.Batch{}
	for _, q := range queries {
		b.Queue(q, clean(args)...)
	}
	if err := t.on.SendBatch(t.ctx, b).Close(); err != nil {
		t.fail(err)
	}
}

// first reads the first row of a query into dest and reports whether there is one.
func (t *tx) first(dest []any, query string, args ...any) (found bool) {
	return len(rows(t, func(*struct{}) []any { return dest }, query, args...)) > 0
}

// rows returns the rows of a query. dest returns the fields of a T for the columns.
func rows[T any](t *tx, dest func(*T) []any, query string, args ...any) []T {
	if t.err != nil {
		return nil
	}
	found, err := t.on.Query(t.ctx, query, clean(args)...)
	if err != nil {
		t.fail(err)
		return nil
	}
	var none []T // which the caller may compare with nil
	list, err := pgx.AppendRows(none, found, func(row pgx.CollectableRow) (v T, err error) {
		err = row.Scan(dest(&v)...)
		return v, err
	})
	if err != nil {
		t.fail(err)
		return nil
	}
	return list
}

// value is dest for rows of one column.
func value[T any](v *T) []any { return []any{v} }

// clean replaces in texts what PostgreSQL can't store: U+0000 and invalid UTF-8. Only ids and names are texts, and no platform
// has such; without this, one strange message could never be stored, and would be received for ever.
func clean(args []any) []any {
	for i, arg := range args {
		if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
			args[i] = cleanText(v.String())
		}
	}
	return args
}

func cleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\u2400")
}

// orNull is the stored form of a time that may be zero.
func orNull(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}
