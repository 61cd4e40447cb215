package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"
)

// Options says where the store is.
type Options struct {
	Path string           // the database file; its directory is created, mode 0700, when missing
	Log  *slog.Logger     // nil: nothing is logged
	Now  func() time.Time // nil: time.Now
}

// Store is an open store. Its methods are safe for concurrent use. Each is one transaction, which is on disk
// when the method returns without an error. One goroutine writes, others read; Close ends them.
type Store struct {
	*Reader
	lock *lock
	by   *writer
}

// Reader is the part of a store that changes nothing.
type Reader struct {
	path  string
	log   *slog.Logger
	now   func() time.Time
	read  *sql.DB
	only  bool   // nothing is ever written, nor any file made
	views *views // reads of an open Store; nil: read is used
}

// Open opens the store, makes it when there is none, and brings an older schema up to date. It fails with
// ErrLocked, ErrNewer, ErrForeign, ErrCorrupt or ErrFull in its chain where one of them is the reason. The
// time it takes grows with the file, which is checked for damage.
func Open(ctx context.Context, o Options) (*Store, error) {
	r, err := newReader(o)
	if err != nil {
		return nil, err
	}
	s := &Store{Reader: r}
	if err := s.open(ctx); err != nil {
		err = r.explain(ctx, "open store", err)
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenReadOnly opens a store to check it or to copy it. It needs no lock: a daemon may use the store meanwhile. An older schema
// is not changed. The file must exist, and no file is created beside it.
func OpenReadOnly(ctx context.Context, o Options) (*Reader, error) {
	r, err := newReader(o)
	if err != nil {
		return nil, err
	}
	r.only = true
	if err := r.inspect(ctx); err != nil {
		err = r.explain(ctx, "open store", err)
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Ping returns once the store has made an empty transaction and an empty read: proof that neither hangs.
func (s *Store) Ping(ctx context.Context) error {
	nothing := func(*tx) error { return nil }
	if err := s.update(ctx, "ping store", nothing); err != nil {
		return err
	}
	return s.view(ctx, "ping store", nothing)
}

// Close waits for running calls and closes the store. Whatever was stored is on the disk already.
func (s *Store) Close() error {
	err := s.Reader.Close() // first, so that the writer is the last one and moves the log into the file
	if s.by != nil {
		err = errors.Join(err, s.by.close())
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.release())
	}
	if err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// Close closes the store.
func (r *Reader) Close() error {
	var err error
	if r.views != nil {
		err = r.views.close()
	}
	if r.read == nil {
		return err
	}
	return errors.Join(err, r.read.Close())
}

func newReader(o Options) (*Reader, error) {
	path, err := resolve(o.Path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	r := &Reader{path: path, log: o.Log, now: o.Now}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.now == nil {
		r.now = time.Now
	}
	return r, nil
}

// resolve follows links, so that two names of a file share one lock.
func resolve(path string) (string, error) {
	if path == "" {
		return "", errors.New("no path")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if file, err := filepath.EvalSymlinks(path); err == nil {
		return file, nil
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path)), nil
	}
	return path, nil
}

// statements is where a transaction's statements are run.
type statements interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// tx is one transaction. Its clock stands still.
type tx struct {
	on  statements
	now int64
	log *slog.Logger
}

// update runs do in a transaction that may write. do may be run again after a failure, as if it had not been.
func (s *Store) update(ctx context.Context, what string, do func(*tx) error) error {
	return s.explain(ctx, what, s.by.run(ctx, &call{do: do}))
}

// erase is update for data that must not be readable in the store's files afterwards. If a reader prevents that, erase returns
// after eraseWait; the checkpointer keeps trying and logs a longer delay.
func (s *Store) erase(ctx context.Context, what string, do func(*tx) error) error {
	c := &call{do: do, erases: true}
	if err := s.by.run(ctx, c); err != nil {
		return s.explain(ctx, what, err)
	}
	s.by.log.await(ctx, c.erasure)
	return nil
}

// view runs do in a transaction that sees one state of the store, whatever is written meanwhile. do may be run
// again after a failure, as if it had not been.
func (r *Reader) view(ctx context.Context, what string, do func(*tx) error) error {
	if r.views != nil {
		return r.explain(ctx, what, r.views.run(ctx, do))
	}
	return r.explain(ctx, what, r.look(ctx, do))
}

// look is view on a connection that can't write.
func (r *Reader) look(ctx context.Context, do func(*tx) error) error {
	t, err := r.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	if err := do(r.tx(t)); err != nil {
		_ = t.Rollback() // the first error is the reason; what is left open is rolled back with the connection
		return err
	}
	return t.Commit()
}

func (r *Reader) tx(on statements) *tx {
	return &tx{on: on, now: r.now().UnixMilli(), log: r.log}
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := t.on.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// all runs statements that share their arguments.
func (t *tx) all(ctx context.Context, queries []string, args ...any) error {
	for _, q := range queries {
		if _, err := t.exec(ctx, q, args...); err != nil {
			return err
		}
	}
	return nil
}

// first reads the first row into dest and says whether there was one.
func (t *tx) first(ctx context.Context, dest []any, query string, args ...any) (found bool, err error) {
	err = t.each(ctx, func(rows *sql.Rows) error {
		if found {
			return nil
		}
		found = true
		return rows.Scan(dest...)
	}, query, args...)
	return found && err == nil, err
}

// each calls do with every row. do must not use the transaction.
func (t *tx) each(ctx context.Context, do func(*sql.Rows) error, query string, args ...any) (err error) {
	rows, err := t.on.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := do(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// millis is t as it is stored; the zero time is 0.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// instant is the time that millis stored.
func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
