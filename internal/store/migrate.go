package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// migrations contains the numbered changes of the schema. Never edit a migration that has been released.
//
//go:embed migrations
var migrations embed.FS

const migrationsDir = "migrations/sqlite"

// latest returns the number of the newest migration.
func latest() int64 {
	files, err := fs.ReadDir(migrations, migrationsDir)
	if err != nil || len(files) == 0 {
		return 0
	}
	number, _, _ := strings.Cut(files[len(files)-1].Name(), "_")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// migrate updates the schema to the newest version. Each migration runs in its own transaction.
func (s *Store) migrate(ctx context.Context, db *sql.DB) error {
	return migrateTo(ctx, db, s.log, latest())
}

func migrateTo(ctx context.Context, db *sql.DB, log *slog.Logger, target int64) error {
	has, err := version(ctx, db)
	if err != nil {
		return err
	}
	if has == target {
		return nil // the migration library goose would find nothing to do, too, but would take longer
	}
	files, err := fs.Sub(migrations, migrationsDir)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files,
		goose.WithSlog(log), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	done, err := p.UpTo(ctx, target)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if has > 0 {
		log.Info("store brought up to date", slog.Int64("from", has), slog.Int64("to", target), slog.Int("steps", len(done)))
	}
	return nil
}
