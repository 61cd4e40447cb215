package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"

	"telex/internal/config"
	"telex/internal/store"
)

// ErrDamaged is returned by CheckStore for a damaged store, after it reported the problems.
var ErrDamaged = errors.New("the store is damaged")

// BackupStore copies the store of the state directory that env names into a new file, and says so. A daemon
// may hold the store and go on. A file that is there is not overwritten.
func BackupStore(ctx context.Context, env config.Env, o Output, file string) (err error) {
	path, r, err := openStoreReadOnly(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	switch err := r.Backup(ctx, file); {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s is there already, and a backup overwrites nothing: name another file", file)
	case err != nil:
		return err
	}
	return o.line("%s: a copy of %s", file, path)
}

// CheckStore reads the whole store of the state directory that env names and writes what is wrong with it and
// how much is in it. A daemon may hold the store and go on.
func CheckStore(ctx context.Context, env config.Env, o Output) (err error) {
	path, r, err := openStoreReadOnly(ctx, env)
	if errors.Is(err, store.ErrCorrupt) { // too damaged to be opened
		return errors.Join(ErrDamaged, o.report(store.Report{Path: path, Problems: []string{err.Error()}}))
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
	if len(report.Problems) > 0 {
		return ErrDamaged
	}
	return nil
}

// RestoreStore puts a backup in the place of the store of the state directory that env names, and says what it did.
// A daemon must not hold the store. The store that was there is kept beside it.
func RestoreStore(ctx context.Context, env config.Env, o Output, file string) error {
	dir, err := restoreDir(env)
	if err != nil {
		return err
	}
	done, err := store.Restore(ctx, store.Options{Path: store.File(dir)}, file)
	switch {
	case errors.Is(err, store.ErrLocked):
		return fmt.Errorf("restore store: a telex runs; stop it first, for example with systemctl stop telex (%w)", err)
	case err != nil:
		return err
	}
	if err := o.line("%s: restored from %s", done.Path, file); err != nil || done.Kept == "" {
		return err
	}
	return o.line("%s: the store that was there; delete it when it is not needed any more", done.Kept)
}

// restoreDir is stateDir for a missing store: on a new machine the directory of the service is enough.
func restoreDir(env config.Env) (string, error) {
	dir, err := stateDir(env)
	named := env.Value("STATE_DIRECTORY") != "" || env.Value("XDG_STATE_HOME") != ""
	if !named && (err != nil || !exists(store.File(dir))) && exists(serviceState) {
		return serviceState, nil
	}
	return dir, err
}

// openStoreReadOnly returns the store's path even when the store can't be opened.
func openStoreReadOnly(ctx context.Context, env config.Env) (path string, r *store.Reader, err error) {
	dir, err := stateDir(env)
	if err != nil {
		return "", nil, err
	}
	path = store.File(dir)
	r, err = store.OpenReadOnly(ctx, store.Options{Path: path})
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, errNoStore(path)
	}
	return path, r, err
}

func errNoStore(path string) error {
	return fmt.Errorf("there is no store at %s: telex run makes it; if it is elsewhere, set STATE_DIRECTORY to its directory", path)
}

func (o Output) report(rep store.Report) error {
	if len(rep.Problems) > 0 {
		return o.line("%s: damaged\n  %s\nWhat to do about it is in docs/operations.md, under The store.", rep.Path, strings.Join(rep.Problems, "\n  "))
	}
	if rep.Schema != rep.Knows {
		return o.line("%s: sound\n  schema %d; telex run brings it to %d, and only then can its contents be counted", rep.Path, rep.Schema, rep.Knows)
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
