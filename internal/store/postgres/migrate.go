package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"telex/internal/store"
)

// migrations contains the numbered changes of the schema. Never edit a migration that has been released.
//
//go:embed migrations/*.sql
var migrations embed.FS

// firstShared is the first schema with which several processes can share a database. A process that knows only schema 1
// does not notice other processes that use the database.
const firstShared = 2

// schemas describes which schema versions a program knows.
type schemas struct {
	files  fs.FS // the migrations, numbered from 1
	newest int64
	// oldest is the oldest schema that a program must know to use a database with the newest schema. The table
	// compatibility contains the same number as the field oldest. A migration that only adds something to the schema does
	// not change the number oldest. A migration that removes something raises the number oldest. A migration that removes
	// something is released one release after the first program that does not need the removed data. So programs of two
	// consecutive releases can run at the same time.
	oldest int64
}

// known returns the schema versions that this program knows.
func known() (schemas, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return schemas{}, err
	}
	list, err := fs.ReadDir(files, ".")
	return schemas{files: files, newest: int64(len(list)), oldest: 2}, err
}

// migrate updates the schema, with one transaction for each migration. While migrate runs, no other process can migrate
// or register. If the schema is newer than the one that this program knows, migrate does not change it. migrate fails
// with store.ErrLocked while a process runs that could not use the new schema.
func (s *Store) migrate(ctx context.Context) (err error) {
	if s.from, err = s.schema(ctx); err != nil || s.from >= s.knows.newest {
		return err // the method current checks later whether this program can use a newer schema
	}
	db := stdlib.OpenDB(*s.pool.Config().ConnConfig, stdlib.OptionAfterConnect(s.mayMigrate))
	defer func() { err = errors.Join(err, db.Close()) }() // closing the pool db also releases the locks of its connection
	db.SetMaxOpenConns(1)
	switch err := db.PingContext(ctx); {
	case errors.Is(err, errUpToDate):
		return nil
	case err != nil:
		return err
	}
	return s.up(ctx, db)
}

// errUpToDate means that another process has already migrated the schema.
var errUpToDate = errors.New("the schema is up to date")

// mayMigrate prepares a connection for migrations, and takes the lock for migrations on this connection. mayMigrate
// fails if there is nothing to migrate, or if a process runs that could not use the new schema. The migrations run on
// the same connection. So if this connection, and with it the lock, is lost, the migrations stop.
func (s *Store) mayMigrate(ctx context.Context, conn *pgx.Conn) (err error) {
	defer func() {
		if err != nil { // after an error, no other code closes the connection
			hangUp(ctx, conn)
		}
	}()
	if err := lockMigrations(ctx, conn); err != nil {
		return err
	}
	switch s.from, err = s.schema(ctx); {
	case err != nil:
		return err
	case s.from >= s.knows.newest:
		return errUpToDate
	}
	return s.refuse(ctx, conn)
}

// lockMigrations takes the lock for migrations, which the connection conn holds until conn is closed. There is no limit
// on how long lockMigrations waits for the lock. If the machine of the process that holds this lock dies, the server
// must therefore close that process's connection soon. The settings in keepAlive make the server close such a
// connection soon.
func lockMigrations(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, keepAlive+"; SET lock_timeout = 0"); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, lockMigration, lockClass, lockSchema); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "RESET lock_timeout") // while the migrations run, waiting for locks has a limit again
	return err
}

// refuseForeign fails if the database has no schema of telex, but a table with the same name as one of telex's tables.
// Such a table belongs to another program. refuseForeign only reads the database.
func (s *Store) refuseForeign(ctx context.Context, conn *pgx.Conn) error {
	var names []string
	for _, t := range tables() {
		names = append(names, t.name)
	}
	var name string
	err := conn.QueryRow(ctx, `SELECT name FROM unnest($1::text[]) name WHERE to_regclass(name) IS NOT NULL LIMIT 1`, names).Scan(&name)
	if err == nil {
		return fmt.Errorf("%s is %w: it has a table %s that telex did not make: give telex a database of its own", s.name, store.ErrForeign, name)
	}
	return orNone(err)
}

// refuse fails if a process runs that could not use the newest schema, or if the database belongs to another program.
func (s *Store) refuse(ctx context.Context, conn *pgx.Conn) error {
	if s.from == 0 {
		if err := s.refuseForeign(ctx, conn); err != nil {
			return err
		}
	}
	if s.from < firstShared {
		return s.refuseAlone(ctx, conn)
	}
	older, err := conn.Query(ctx, listOlder, s.knows.oldest)
	if err != nil {
		return err
	}
	type program struct{ Name, Version string }
	list, err := pgx.CollectRows(older, pgx.RowToStructByPos[program])
	if err != nil || len(list) == 0 {
		return err
	}
	return fmt.Errorf("%s is %w: telex %s (%s) can't use schema %d: upgrade that one first, to a version that knows schema %d or newer",
		s.name, store.ErrLocked, list[0].Version, list[0].Name, s.knows.newest, s.knows.oldest)
}

// refuseAlone fails if a process runs that knows only schema 1. If no such process runs, refuseAlone takes the lock
// that such a process needs, so that none can start until conn is closed.
func (s *Store) refuseAlone(ctx context.Context, conn *pgx.Conn) error {
	var free bool
	if err := conn.QueryRow(ctx, tryOwner, lockClass, lockOwner).Scan(&free); err != nil || free {
		return err
	}
	var name, address string
	var since time.Time
	err := conn.QueryRow(ctx, findHolder, lockClass, lockOwner).Scan(&name, &address, &since)
	if errors.Is(err, pgx.ErrNoRows) { // the process that held the lock has just ended
		return fmt.Errorf("%s is %w", s.name, store.ErrLocked)
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%s is %w (%s, from %s, since %s), of a version that can't share the database: stop it first",
		s.name, store.ErrLocked, name, address, since.UTC().Format(time.RFC3339))
}

// up applies the missing migrations.
func (s *Store) up(ctx context.Context, db *sql.DB) error {
	p, err := goose.NewProvider(goose.DialectPostgres, db, s.knows.files, goose.WithSlog(slog.New(slog.DiscardHandler)), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	began := time.Now()
	if _, err := p.UpTo(ctx, s.knows.newest); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	s.log.Info("database brought up to date",
		slog.String("store", s.name), slog.Int64("from", s.from), slog.Int64("to", s.knows.newest), slog.Duration("took", time.Since(began)))
	return nil
}

// current returns an error if this program can't use the schema that the database has now. A program can use each
// schema that it knows, and a newer schema that still contains everything that the program needs.
func (s *Store) current(ctx context.Context) error {
	has, err := s.schema(ctx)
	knows := s.knows.newest
	if err != nil || has == knows {
		return err
	}
	if has == 0 {
		return fmt.Errorf("%s is %w: run telex store migrate or telex run, which make its tables", s.name, store.ErrEmpty)
	}
	if has < knows {
		return fmt.Errorf("%s is %w (schema %d, this one knows %d): run telex store migrate or telex run, which update it",
			s.name, store.ErrOlder, has, knows)
	}
	var needs int64
	if err := s.pool.QueryRow(ctx, findOldest).Scan(&needs); err != nil {
		return err
	}
	if err := s.newer(needs); err != nil {
		return err
	}
	s.log.Info("a newer telex has changed the database; this one can use it",
		slog.String("store", s.name), slog.Int64("schema", has), slog.Int64("knows", knows))
	return nil
}

// newer returns an error if this program knows only schema versions that are older than the version needs. To use the
// database, a program must know the version needs or a newer one.
func (s *Store) newer(needs int64) error {
	if needs <= s.knows.newest {
		return nil
	}
	return fmt.Errorf("%s is %w: a telex must know schema %d or newer to use it, and this one knows %d: upgrade this one",
		s.name, store.ErrNewer, needs, s.knows.newest)
}

// Migrated returns the version of the schema that Open found, and the newest version that this program knows.
func (s *Store) Migrated() (from, to int64) { return s.from, s.knows.newest }

// schema returns the number of the newest migration that was applied, or 0 if there was none. schema fails with
// store.ErrForeign if the tables belong to another program.
func (s *Store) schema(ctx context.Context) (version int64, err error) {
	var managed, conversation bool
	err = s.pool.QueryRow(ctx, `SELECT to_regclass('goose_db_version') IS NOT NULL, to_regclass('conversation') IS NOT NULL`).Scan(&managed, &conversation)
	if err != nil {
		return 0, err
	}
	if managed {
		err = s.pool.QueryRow(ctx, `SELECT COALESCE(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&version)
	}
	if err == nil && version > 0 && !conversation { // telex's table conversation was made just now, or another program uses goose
		err = s.pool.QueryRow(ctx, `SELECT to_regclass('conversation') IS NOT NULL`).Scan(&conversation)
	}
	if err == nil && conversation != (version > 0) {
		err = fmt.Errorf("%s is %w: give telex a database of its own", s.name, store.ErrForeign)
	}
	return version, err
}
