package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Report is what a check found.
type Report struct {
	Path          string
	Schema        int64    // version of the file's schema
	Knows         int64    // newest version that this program knows
	Problems      []string // empty: the file is sound
	Conversations int64
	Entries       int64 // of all histories
	Keys          int64 // messages that are known, finished ones included
	Pending       int64 // messages that are not finished
	Unfinished    int64 // turns that are not finished
}

// Check reads the whole store and says what is wrong with it and how much is in it. Damage is in the Report; an
// error means that it could not be looked for. Of an older schema, or one that lacks something, nothing is counted.
func (r *Reader) Check(ctx context.Context) (Report, error) {
	rep := Report{Path: r.path, Knows: latest()}
	err := r.diagnose(ctx, &rep)
	if err == nil {
		return rep, nil
	}
	err = r.explain(ctx, "check store", err)
	if errors.Is(err, ErrCorrupt) {
		rep.Problems = append(rep.Problems, err.Error())
		return rep, nil
	}
	return rep, err
}

func (r *Reader) diagnose(ctx context.Context, rep *Report) (err error) {
	if rep.Schema, err = version(ctx, r.read); err != nil {
		return err
	}
	if rep.Problems, err = check(ctx, r.read, "integrity_check"); err != nil {
		return err
	}
	lost, err := orphans(ctx, r.read)
	if err != nil {
		return err
	}
	rep.Problems = append(rep.Problems, lost...)
	gone, err := missing(ctx, r.read, rep.Schema)
	if err != nil {
		return err
	}
	rep.Problems = append(rep.Problems, gone...)
	if rep.Schema != rep.Knows || len(gone) > 0 { // what is not there can't be counted
		return nil
	}
	return r.view(ctx, "count", rep.count)
}

// count fills in how much there is, and looks for what SQLite can't know to be wrong.
func (rep *Report) count(t *tx) {
	t.first([]any{&rep.Conversations}, countConversations)
	t.first([]any{&rep.Entries}, countEntries)
	t.first([]any{&rep.Keys}, countKeys)
	t.first([]any{&rep.Pending}, countPending)
	t.first([]any{&rep.Unfinished}, countUnfinished)
	type message struct {
		row  int64
		body []byte
	}
	for m := range each(t, func(m *message) []any { return []any{&m.row, &m.body} }, listBodies) {
		if !json.Valid(m.body) {
			rep.Problems = append(rep.Problems, fmt.Sprintf("message in row %d of inbox can't be read", m.row))
		}
	}
}

// orphans returns the rows that refer to others that are not there.
func orphans(ctx context.Context, db *sql.DB) (problems []string, err error) {
	type orphan struct {
		table, parent   string
		row, constraint sql.NullInt64
	}
	t := &tx{on: db, ctx: ctx}
	for o := range each(t, func(o *orphan) []any { return []any{&o.table, &o.row, &o.parent, &o.constraint} }, "PRAGMA foreign_key_check") {
		problems = append(problems, fmt.Sprintf("row %d of %s refers to no row of %s", o.row.Int64, o.table, o.parent))
	}
	return problems, t.err
}

// Backup copies the store, as it is at one moment, into a new file, while others read and write. It never
// overwrites a file. The copy is on the disk when Backup returns, and can be put in the store's place.
func (r *Reader) Backup(ctx context.Context, file string) error {
	if err := r.backup(ctx, file); err != nil {
		return r.explainAt(ctx, filepath.Dir(file), "back up store to "+file, err)
	}
	return nil
}

// backup first reserves the name, then makes the copy beside it, under a name that nobody has, and moves it there: a
// backup that was interrupted is an empty file, which nobody takes for a backup.
func (r *Reader) backup(ctx context.Context, file string) (err error) {
	reserved, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file))
		}
	}()
	if err := reserved.Close(); err != nil {
		return err
	}
	copied, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.partial")
	if err != nil {
		return err
	}
	partial := copied.Name()
	_, err = r.read.ExecContext(ctx, "VACUUM INTO ?", partial)
	if err == nil {
		err = copied.Sync()
	}
	if err = errors.Join(err, copied.Close()); err == nil {
		err = os.Rename(partial, file)
	}
	if err != nil {
		return errors.Join(err, remove(partial))
	}
	return syncDir(filepath.Dir(file))
}
