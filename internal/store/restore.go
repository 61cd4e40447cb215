package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// keptTimeFormat is the format of the time in the name under which Restore keeps the previous store.
const keptTimeFormat = "20060102T150405Z"

// Restored describes what Restore has done.
type Restored struct {
	Path string // path of the restored store
	Kept string // path at which the previous store is kept; empty: there was no previous store
}

// Restore replaces the store by a backup and keeps the previous store beside the new one. Restore first checks the
// backup, which stays unchanged. Restore fails without changes if another process has locked the store (ErrLocked).
// Restore also fails without changes if the backup is damaged, was written by a newer telex, or is not a store. At
// each moment, even if the machine stops, the store's path refers either to the old or to the new store.
func Restore(ctx context.Context, o Options, file string) (Restored, error) {
	r, err := newReader(o)
	if err != nil {
		return Restored{}, err
	}
	if err := checkBackup(ctx, o.Log, r.path, file); err != nil {
		return Restored{}, err
	}
	if err := os.MkdirAll(filepath.Dir(r.path), dirMode); err != nil {
		return Restored{}, err
	}
	lock, err := takeLock(r.path, r.path)
	if err != nil {
		return Restored{}, err
	}
	done, err := r.restore(ctx, file)
	return done, r.explain(ctx, "restore store", errors.Join(err, lock.release()))
}

// checkBackup returns an error if the backup in file can't replace the store at path.
func checkBackup(ctx context.Context, log *slog.Logger, path, file string) (err error) {
	backup, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("read backup: %w", err)
	}
	if st, err := os.Stat(path); err == nil && os.SameFile(backup, st) {
		return fmt.Errorf("%s is the store itself: name a backup of it", file)
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if n, err := fileSize(file + suffix); err != nil || n > 0 {
			return fmt.Errorf("%s is a copy of a store in use: a part of it is in %s; use a file that telex store backup made", file, file+suffix)
		}
	}
	r, err := OpenReadOnly(ctx, Options{Path: file, Log: log})
	switch {
	case errors.Is(err, ErrCorrupt): // leave out err, whose remedy is not right for a damaged backup
		return fmt.Errorf("check backup: %s is %w: use another backup", file, ErrCorrupt)
	case err != nil:
		return fmt.Errorf("check backup: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	rep, err := r.Check(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("check backup: %w", err)
	case len(rep.Problems) > 0:
		return fmt.Errorf("check backup: %s is %w (%s): use another backup", file, ErrCorrupt, rep.Problems[0])
	}
	return nil
}

// restore does the work of Restore while it holds the lock.
func (r *Reader) restore(ctx context.Context, file string) (done Restored, err error) {
	name := r.path + ".new"
	if err := copyFile(ctx, file, name); err != nil {
		return done, errors.Join(err, remove(name))
	}
	done = Restored{Path: r.path}
	_, err = os.Lstat(r.path)
	switch {
	case err == nil:
		if done.Kept, err = r.keep(ctx); err != nil {
			return Restored{}, errors.Join(err, remove(name))
		}
	case !errors.Is(err, fs.ErrNotExist):
		return Restored{}, errors.Join(err, remove(name))
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal"} { // delete the old store's files; keep has kept those that matter
		if err := remove(r.path + suffix); err != nil {
			return Restored{}, err
		}
	}
	if err := os.Rename(name, r.path); err != nil {
		return Restored{}, err
	}
	return done, syncDir(filepath.Dir(r.path))
}

// keep gives the old store a second name, under which Restore keeps it. keep first moves the write-ahead log into the
// database file. If moving the log fails, for example because of damage, keep also gives the log a second name, so that
// SQLite finds the log beside the kept database file.
func (r *Reader) keep(ctx context.Context) (string, error) {
	if err := r.closeLog(ctx); err != nil {
		r.log.Warn("the old store is kept with its log, which could not be merged into it", slog.Any("error", err))
	}
	kept := r.path + ".before-restore-" + r.now().UTC().Format(keptTimeFormat)
	for n := 2; ; n++ {
		err := os.Link(r.path, kept)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		kept = fmt.Sprintf("%s.before-restore-%s-%d", r.path, r.now().UTC().Format(keptTimeFormat), n)
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if err := os.Link(r.path+suffix, kept+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return kept, syncDir(filepath.Dir(r.path))
}

// closeLog moves the write-ahead log into the database file and deletes the log, as SQLite does when the last
// connection closes.
func (r *Reader) closeLog(ctx context.Context) error {
	if n, err := fileSize(r.path + "-wal"); err != nil || n == 0 {
		return err
	}
	db, err := openWriter(r.path, "WAL")
	if err != nil {
		return err
	}
	var n int
	err = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_schema").Scan(&n)
	return errors.Join(err, db.Close())
}

// copyFile copies a file to a new name and syncs the copy. The copy gets the same owner as its directory. If an
// interrupted copy has left a file under the new name, copyFile replaces this file.
func copyFile(ctx context.Context, from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close() //nolint:errcheck // nothing was written
	if err := remove(to); err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if err := giveToOwner(to); err != nil {
		return err
	}
	if _, err := io.Copy(target, source); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return target.Sync()
}
