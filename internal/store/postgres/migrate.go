package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"telex/internal/store"
)

// migrations are the numbered changes of the schema. Released migrations are never edited.
//
//go:embed migrations/*.sql
var migrations embed.FS

// latest returns the number of the newest migration.
func latest() int64 {
	files, err := fs.ReadDir(migrations, "migrations")
	if err != nil {
		return 0
	}
	return int64(len(files)) // they are numbered from 1
}

// migrate brings the schema up to date, each step in its own transaction. The caller owns the store. A schema that a newer telex
// made is not touched: store.ErrNewer.
func (s *Store) migrate(ctx context.Context) (err error) {
	to := latest()
	if s.from, err = s.schema(ctx); err != nil || s.from >= to {
		return err // current says what is wrong with a newer one
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(s.pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSlog(slog.New(slog.DiscardHandler)), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	began := time.Now()
	if _, err := p.UpTo(ctx, to); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	s.log.Info("database brought up to date",
		slog.String("store", s.name), slog.Int64("from", s.from), slog.Int64("to", to), slog.Duration("took", time.Since(began)))
	return nil
}

// schema returns the number of the newest migration applied; 0 if there is none. Tables of somebody else without a migration are
// store.ErrForeign.
func (s *Store) schema(ctx context.Context) (version int64, err error) {
	var managed, conversation bool
	err = s.pool.QueryRow(ctx, `SELECT to_regclass('goose_db_version') IS NOT NULL, to_regclass('conversation') IS NOT NULL`).Scan(&managed, &conversation)
	if err != nil {
		return 0, err
	}
	if managed {
		err = s.pool.QueryRow(ctx, `SELECT COALESCE(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&version)
	}
	if err == nil && conversation && version == 0 {
		err = fmt.Errorf("%s is %w: give telex a database of its own", s.name, store.ErrForeign)
	}
	return version, err
}
