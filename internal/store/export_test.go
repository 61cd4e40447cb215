package store

import (
	"context"
	"database/sql"
	"log/slog"

	"telex/internal/chat"
)

// Latest returns the newest schema version.
func Latest() int64 { return latest() }

// MigrateTo migrates a database to the given schema version.
func MigrateTo(ctx context.Context, db *sql.DB, version int64) error {
	return migrateTo(ctx, db, slog.New(slog.DiscardHandler), version)
}

// Readers returns the connections that only read.
func Readers(s *Store) *sql.DB { return s.read }

// ReadersOf returns the connections of a read-only store.
func ReadersOf(r *Reader) *sql.DB { return r.read }

// AwaitErased waits until all erased data has been overwritten in the store's files.
func AwaitErased(ctx context.Context, s *Store) { s.by.log.waitErased(ctx, s.by.erasures.Load()) }

// Writer returns the connection that writes. A test may use this connection only while it makes no other call of the
// store.
func Writer(s *Store) *sql.Conn { return s.by.conn }

// ReserveSize is the size in bytes of the reserve file, which only occupies space. The store deletes the reserve file
// when the disk is full.
const ReserveSize = reserveSize

// KeepEvery is the minimum time between two attempts to create the reserve file again.
const KeepEvery = keepEvery

// Stall keeps the writer busy until the test calls release.
func Stall(ctx context.Context, s *Store) (release func()) {
	stalled, free := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- s.update(ctx, "stall", func(*tx) {
			close(stalled)
			<-free
		})
	}()
	<-stalled
	return func() {
		close(free)
		<-ended
	}
}

// Panic makes a transaction panic.
func Panic(ctx context.Context, s *Store) error {
	return s.update(ctx, "panic", func(*tx) { panic("in a transaction") })
}

// Commits returns how many write transactions have begun.
func Commits(s *Store) int { return int(s.by.commits.Load()) }

// Erasures returns how many transactions have erased data so far. The transactions of a sweep count as erasures, too.
func Erasures(s *Store) int { return int(s.by.erasures.Load()) }

// Append adds entries that belong to no turn to a history. Older versions of telex stored entries without a turn.
func Append(ctx context.Context, s *Store, c chat.Conversation, entries ...string) error {
	return s.update(ctx, "append", func(t *tx) {
		row := TurnRow{Conversation: t.ensure(c)}
		for _, e := range entries {
			t.grow("", row, chat.Growth{History: [][]byte{[]byte(e)}})
		}
	})
}

// Parts returns the stored parts of a turn's reply, even after the turn has ended.
func Parts(ctx context.Context, r *Reader, turn string) (parts []chat.Part, err error) {
	err = r.view(ctx, "read parts", func(t *tx) { parts = t.parts(turn) })
	return parts, err
}

// LockFile returns the file descriptor of the lock file.
func LockFile(s *Store) int { return int(s.lock.file.Fd()) }

// Explain returns the error that an operator sees if the operating system returns the error err.
func Explain(ctx context.Context, path string, err error) error {
	r := &Reader{path: path}
	return r.explain(ctx, "open store", err)
}

// Path returns the name of the store's file.
func Path(s *Store) string { return s.path }
