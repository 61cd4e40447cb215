package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"text/tabwriter"

	"telex/internal/config"
	"telex/internal/store"
	"telex/internal/store/postgres"
)

// ErrDamaged means that the store is damaged or at risk. CheckStore writes the problems that it has found before it returns
// ErrDamaged.
var ErrDamaged = errors.New("the store is damaged or at risk")

// BackupStore copies the store in the state directory of env to a new file, and writes where the file is. A daemon may
// use the store at the same time. BackupStore never overwrites a file.
func BackupStore(ctx context.Context, env config.Env, o Output, file string) (err error) {
	at, err := locate(env)
	if err == nil {
		err = at.fileOnly("back it up with pg_dump, such as: pg_dump --format=custom --file=FILE URL")
	}
	if err != nil {
		return err
	}
	r, err := store.OpenReadOnly(ctx, store.Options{Path: at.file()})
	if errors.Is(err, fs.ErrNotExist) {
		return errNoStore(at.file())
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	switch err := r.Backup(ctx, file); {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s already exists, and a backup overwrites nothing: name another file", file)
	case err != nil:
		return err
	}
	return o.line("%s: a copy of %s", file, at.file())
}

// CheckStore reads the whole store, and writes what is wrong with it and how much it contains. A daemon may use the
// store at the same time.
func CheckStore(ctx context.Context, env config.Env, o Output) (err error) {
	at, err := locate(env)
	if err != nil {
		return err
	}
	r, err := at.read(ctx)
	if errors.Is(err, store.ErrCorrupt) { // the store is too damaged to be opened
		return errors.Join(ErrDamaged, o.report(store.Report{Path: at.file(), Problems: []string{err.Error()}}))
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	report, err := r.Check(ctx)
	if err != nil {
		return err
	}
	if err := o.report(report); err != nil {
		return err
	}
	if len(report.Problems)+len(report.Risks) > 0 {
		return ErrDamaged
	}
	return nil
}

// RestoreStore replaces the store in the state directory of env by a backup, and reports the result. RestoreStore
// keeps the old store beside the new one. RestoreStore fails if a daemon uses the store.
func RestoreStore(ctx context.Context, env config.Env, o Output, file string) error {
	at, err := locate(env)
	if err == nil {
		err = at.fileOnly("restore it with pg_restore while the daemon is stopped, such as: pg_restore --clean --if-exists --dbname=URL FILE")
	}
	if err != nil {
		return err
	}
	dir, err := restoreDir(env)
	if err != nil {
		return err
	}
	done, err := store.Restore(ctx, store.Options{Path: store.File(dir)}, file)
	switch {
	case errors.Is(err, store.ErrLocked):
		return fmt.Errorf("restore store: a daemon runs; stop it first, for example with systemctl stop telex (%w)", err)
	case err != nil:
		return err
	}
	if err := o.line("%s: restored from %s", done.Path, file); err != nil || done.Kept == "" {
		return err
	}
	return o.line("%s: the old store; delete it when you no longer need it", done.Kept)
}

// restoreDir is like stateDir, but also returns the directory of the systemd service if that directory contains no store yet,
// as on a new machine.
func restoreDir(env config.Env) (string, error) {
	dir, err := stateDir(env)
	if !namesState(env) && (err != nil || !exists(store.File(dir))) && exists(serviceStateDir) {
		return serviceStateDir, nil
	}
	return dir, err
}

// MigrateStore updates the schema of the store, as a daemon does when it starts. If the store is a file, no daemon may use the
// file. If the store is a database, daemons that can use the new schema may run. If a daemon that can't use the new schema is
// running, MigrateStore fails with store.ErrLocked.
func MigrateStore(ctx context.Context, env config.Env, o Output) (err error) {
	at, err := locate(env)
	if err != nil {
		return err
	}
	s, err := at.write(ctx)
	if errors.Is(err, store.ErrLocked) && at.dsn.IsSQLite() {
		return fmt.Errorf("migrate store: a daemon runs, and updated the store when it started (%w)", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	report, err := s.Check(ctx)
	if err != nil {
		return err
	}
	if report.Schema > report.Knows {
		return o.line("%s: schema %d, of a newer telex; this telex knows schema %d and can use the store", report.Path, report.Schema, report.Knows)
	}
	return o.line("%s: schema %d, which is the newest", report.Path, report.Schema)
}

// CopyStore copies the SQLite store in the state directory of env to the configured database, which must be empty. No daemon
// may use the file or the database. CopyStore does not change the SQLite file.
func CopyStore(ctx context.Context, env config.Env, o Output) (err error) {
	at, err := locate(env)
	if err != nil {
		return err
	}
	if at.dsn.IsSQLite() {
		return errors.New("copy store: the configuration names no database to copy to: set store.dsn or store.dsn_file to its URL first")
	}
	if !exists(at.file()) {
		return errNoStore(at.file())
	}
	from, err := store.Open(ctx, store.Options{Path: at.file()}) // Open also locks the file, so that no other process changes it
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := postgres.Open(ctx, postgres.Options{DSN: at.dsn.Reveal(), Migrate: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	copied, err := to.Copy(ctx, from.Reader)
	if err != nil {
		return err
	}
	rows := [][]string{{"TABLE", "ROWS"}}
	for _, t := range copied {
		rows = append(rows, []string{t.Table, strconv.FormatInt(t.Rows, 10)})
	}
	if err := o.table(rows...); err != nil {
		return err
	}
	return o.line("%s: copied from %s, every row counted on both sides; delete the file when you no longer need it", to.Name(), at.file())
}

func errNoStore(path string) error {
	return fmt.Errorf("there is no store at %s: telex run creates it; if the store is elsewhere, set STATE_DIRECTORY to its directory", path)
}

func (o Output) report(rep store.Report) error {
	if len(rep.Problems) > 0 {
		return o.line("%s: damaged\n  %s\ndocs/operations.md, under The store, says what to do.", rep.Path, strings.Join(rep.Problems, "\n  "))
	}
	if len(rep.Risks) > 0 {
		return o.line("%s: intact, but at risk\n  %s\ndocs/operations.md, under PostgreSQL, says what to do.", rep.Path, strings.Join(rep.Risks, "\n  "))
	}
	if rep.Schema < rep.Knows {
		return o.line("%s: sound\n  schema %d; telex run updates it to %d, and only then can its contents be counted", rep.Path, rep.Schema, rep.Knows)
	}
	if err := o.line("%s: sound", rep.Path); err != nil {
		return err
	}
	table := tabwriter.NewWriter(o.Results, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		what string
		n    int64
	}{
		{"schema", rep.Schema},
		{"conversations", rep.Conversations},
		{"history entries", rep.Entries},
		{"messages known", rep.Keys},
		{"messages unfinished", rep.Pending},
		{"turns unfinished", rep.Unfinished},
	} {
		fmt.Fprintf(table, "  %s\t%d\n", row.what, row.n)
	}
	return table.Flush()
}
