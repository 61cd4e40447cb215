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

// Options configures the store.
type Options struct {
	Path string           // path of the database file, whose directory is created with mode 0700 if it is missing
	Log  *slog.Logger     // nil: nothing is logged
	Now  func() time.Time // nil: time.Now
	// Observe is called after each transaction with the transaction's kind and duration. The duration includes the time
	// for which the transaction waited. The kinds of transactions are read, write, accept (storing a received message) and
	// erase. Observe must not block. Observe may be nil.
	Observe func(kind string, took time.Duration)
}

// Store is an open store. The methods of Store are safe for concurrent use. Most methods of Store run exactly one
// transaction. When a method returns without an error, its data is on disk. Goroutines of the Store run the
// transactions. Close stops the goroutines of the Store.
type Store struct {
	*Reader
	lock *lock
	by   *writer
}

// Reader contains the methods that only read a store.
type Reader struct {
	path     string
	log      *slog.Logger
	now      func() time.Time
	observe  func(kind string, took time.Duration) // never nil
	read     *sql.DB
	readOnly bool   // the Reader was opened by OpenReadOnly: it writes nothing and creates no file
	views    *views // goroutines that read for an open Store; nil: OpenReadOnly opened the Reader, which uses the pool read
}

// Open opens the store. If the store does not exist, Open creates it. If the schema of the store is older, Open
// migrates it. The error of Open may wrap ErrLocked, ErrNewer, ErrForeign, ErrCorrupt or ErrFull. Open checks the file
// for damage, so it takes longer for a larger file.
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

// OpenReadOnly opens a store in order to check it or to copy it. OpenReadOnly takes no lock, so a daemon may use the
// store at the same time. OpenReadOnly does not migrate an older schema. The file of the store must exist. OpenReadOnly
// creates no file beside the store's file.
func OpenReadOnly(ctx context.Context, o Options) (*Reader, error) {
	r, err := newReader(o)
	if err != nil {
		return nil, err
	}
	r.readOnly = true
	if err := r.inspect(ctx); err != nil {
		err = r.explain(ctx, "open store", err)
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Ping runs an empty write and an empty read, and returns when both have ended.
func (s *Store) Ping(ctx context.Context) error {
	nothing := func(*tx) {}
	if err := s.update(ctx, "ping store", nothing); err != nil {
		return err
	}
	return s.view(ctx, "ping store", nothing)
}

// Close waits for running calls and closes the store. The data of all earlier calls is on disk even without Close.
func (s *Store) Close() error {
	err := s.Reader.Close() // before the writer: when the writer's connection closes last, SQLite moves the log into the file
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
	r := &Reader{path: path, log: o.Log, now: o.Now, observe: o.Observe}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.observe == nil {
		r.observe = func(string, time.Duration) {}
	}
	if r.now == nil {
		r.now = time.Now
	}
	return r, nil
}

// resolve follows symbolic links, so that a file with several names has only one lock.
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
