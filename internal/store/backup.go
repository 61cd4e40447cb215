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

// Report is the result of checking a store.
type Report struct {
	Path          string
	Schema        int64    // version of the store's schema
	Knows         int64    // newest schema version that this program knows
	Problems      []string // errors in the data; empty: the data is intact
	Risks         []string // conditions that may damage the data, or that keep the daemon from using it
	Conversations int64
	Entries       int64 // history entries of all conversations
	Keys          int64 // received messages whose ids are still stored, including messages that are finished
	Pending       int64 // unfinished messages
	Unfinished    int64 // unfinished turns
}

// Check reads the whole store and returns a Report. The Report describes damage and counts the stored items; an error
// means only that the check could not run. If the schema is older or incomplete, Check counts nothing.
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
	gone, err := missingElements(ctx, r.read, rep.Schema)
	if err != nil {
		return err
	}
	rep.Problems = append(rep.Problems, gone...)
	if rep.Schema != rep.Knows || len(gone) > 0 { // a table that is missing can't be counted
		return nil
	}
	return r.view(ctx, "count", rep.count)
}

// count counts the stored items. count also reports messages that can't be decoded, because SQLite can't detect this
// error.
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

// orphans describes each row that refers to a row which does not exist.
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

// Backup copies a consistent state of the store into a new file, while other goroutines and processes read and write
// the store. Backup never overwrites a file. When Backup returns, the copy is on disk and can replace the store.
func (r *Reader) Backup(ctx context.Context, file string) error {
	if err := r.backup(ctx, file); err != nil {
		return r.explainAt(ctx, filepath.Dir(file), "back up store to "+file, err)
	}
	return nil
}

// backup first creates an empty file under the final name, so that no other process takes this name. After that, backup
// writes the copy under a temporary name and renames it. An interrupted backup leaves an empty file. Nobody can mistake
// an empty file for a backup.
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
