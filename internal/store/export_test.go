package store

import (
	"context"
	"database/sql"
	"log/slog"
)

// Latest is the newest schema.
func Latest() int64 { return latest(sqlite()) }

// MigrateTo brings a database to one schema.
func MigrateTo(ctx context.Context, db *sql.DB, version int64) error {
	return migrateTo(ctx, sqlite(), db, slog.New(slog.DiscardHandler), version)
}

// Pools returns the connections of s: the writer's and the readers'.
func Pools(s *Store) (write, read *sql.DB) { return s.write, s.read }

// WithSync changes how the writer's only connection syncs, to measure what syncing costs.
func WithSync(ctx context.Context, s *Store, how string) error {
	_, err := s.write.ExecContext(ctx, "PRAGMA synchronous="+how)
	return err
}

// Postgres returns the query as PostgreSQL would get it.
func Postgres(query string) string {
	return dialect{numbered: true, forUpdate: " FOR UPDATE"}.sql(query)
}

// LockFile returns the descriptor of the lock.
func LockFile(s *Store) int { return int(s.lock.file.Fd()) }
