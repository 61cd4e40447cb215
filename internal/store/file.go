package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

const (
	fileMode = 0o600
	dirMode  = 0o700
	// minSize is the smallest possible page size: https://www.sqlite.org/fileformat.html#the_database_header.
	minSize = 512
)

// open takes the lock and opens the database file. Opening a store needs disk space for the index of the write-ahead
// log. If the disk is full, open deletes the reserve file, so that there is space to finish the work that an earlier
// process began.
func (s *Store) open(ctx context.Context) (err error) {
	if err := os.MkdirAll(filepath.Dir(s.path), dirMode); err != nil {
		return err
	}
	if s.lock, err = takeLock(s.path, s.path); err != nil {
		return err
	}
	reserve := newReserve(s.path, s.log, s.now)
	err = s.openFile(ctx, reserve)
	if !s.full(err) || !reserve.release(err) {
		return err
	}
	if err := s.Reader.Close(); err != nil {
		return err
	}
	return s.openFile(ctx, reserve)
}

// openFile creates the database file if it is missing, checks the file, and opens the connections.
func (s *Store) openFile(ctx context.Context, reserve *reserve) error {
	_, err := os.Lstat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := s.create(ctx); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	if err := restrict(s.path); err != nil {
		return err
	}
	if err := s.rollBack(ctx); err != nil {
		return err
	}
	if err := s.inspect(ctx); err != nil {
		return err
	}
	db, err := openWriter(s.path, "WAL")
	if err != nil {
		return err
	}
	if err := s.migrate(ctx, db); err != nil {
		return errors.Join(err, db.Close())
	}
	s.read.SetMaxIdleConns(0) // keep no idle connections, because a Store uses this pool only for checks and backups
	if s.views, err = newViews(ctx, s.Reader); err != nil {
		return errors.Join(err, db.Close())
	}
	s.by, err = newWriter(ctx, s.Reader, db, reserve)
	return err
}

// create creates an empty store under a temporary name and then renames it. So a store is either complete or missing.
// An empty file at the store's path therefore means damage.
func (s *Store) create(ctx context.Context) error {
	if st, err := os.Stat(s.path + "-wal"); err == nil && st.Size() > 0 {
		return errDamage("the file is missing, but " + filepath.Base(s.path) + "-wal, which belongs to it, exists")
	}
	name := s.path + ".new"
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} { // a killed process may have left these files
		if err := remove(name + suffix); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), giveToOwner(name)); err != nil {
		return err
	}
	// Create the database in WAL mode from the beginning. Converting the database to WAL mode later would be a separate
	// transaction. If the process died during this conversion, the store would have a journal that only a writer can roll
	// back.
	db, err := openWriter(name, "WAL")
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID))
	if err == nil {
		err = s.migrate(ctx, db)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return errors.Join(err, remove(name))
	}
	if err := os.Rename(name, s.path); err != nil {
		return err
	}
	s.log.Info("new store", slog.String("path", s.path))
	return syncDir(filepath.Dir(s.path))
}

// rollBack undoes a transaction that a crashed process has left unfinished in a store that is not in WAL mode. A store
// is always in WAL mode, except for a restored backup that no process has opened for writing. The connections of
// inspect are read-only, so inspect can't undo such a transaction. rollBack changes the file only if it belongs to
// telex.
func (s *Store) rollBack(ctx context.Context) (err error) {
	if _, err := os.Stat(s.path + "-journal"); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if ours, err := isOurs(s.path); err != nil || !ours {
		return err
	}
	db, err := openWriter(s.path, "DELETE")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var n int
	return db.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_master").Scan(&n)
}

// isOurs reports whether the file has the application id of telex:
// https://www.sqlite.org/fileformat2.html#application_id.
func isOurs(path string) (bool, error) {
	const idAt = 68
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	var id [4]byte
	if _, err := f.ReadAt(id[:], idAt); err != nil {
		return false, nil //nolint:nilerr // the file is too short to be a store; the method inspect reports this
	}
	return binary.BigEndian.Uint32(id[:]) == applicationID, nil
}

// remove deletes a file, if the file exists. If the file does not exist, remove returns no error.
func remove(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// restrict removes all permissions of other users from the files of a store.
func restrict(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		st, err := os.Stat(path + suffix)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case st.Mode().Perm()&^fileMode == 0:
			continue
		}
		if err := os.Chmod(path+suffix, fileMode); err != nil {
			return err
		}
	}
	return nil
}

// inspect opens the connections for reading and checks the file. inspect fails if the file is not a store, is damaged,
// or was written by a newer telex. inspect never changes the file, and accesses it only through SQLite.
func (r *Reader) inspect(ctx context.Context) error {
	st, err := os.Stat(r.path)
	switch {
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return fmt.Errorf("%s is not a file", r.path)
	case st.Size() == 0:
		return errDamage("the file is empty")
	case st.Size() < minSize: // too short for a page; SQLite would treat some of these files as an empty database
		return errDamage(fmt.Sprintf("the file ends after %d bytes", st.Size()))
	}
	if r.read, err = openReaders(r.path, readers, r.atRest()); err != nil {
		return err
	}
	if err := r.identify(ctx); err != nil {
		return err
	}
	problems, err := check(ctx, r.read, "quick_check")
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return errDamage(problems[0])
	}
	return nil
}

// atRest reports whether no process uses the file. If no process uses the file, a reader can ignore the write-ahead log
// and its index. If a reader of such a file did not ignore the log and its index, SQLite would create both files and
// leave them behind. Only the function OpenReadOnly uses atRest.
func (r *Reader) atRest() bool {
	if !r.readOnly {
		return false
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if _, err := os.Lstat(r.path + suffix); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// identify checks that the file has telex's application id and a schema version that this program supports.
func (r *Reader) identify(ctx context.Context) error {
	var id int64
	if err := r.read.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if id != applicationID {
		return fmt.Errorf("%s is %w: give telex a file of its own", r.path, ErrForeign)
	}
	has, err := version(ctx, r.read)
	if err != nil {
		return err
	}
	if has == 0 {
		return errDamage("the file has no schema")
	}
	if knows := latest(); has > knows {
		return fmt.Errorf("%s is %w (schema %d, this one knows %d): install the newer telex again, "+
			"or restore a backup that this one can read", r.path, ErrNewer, has, knows)
	}
	return nil
}

// version returns the number of the newest migration that was applied to a database, or 0 if there was none.
func version(ctx context.Context, db *sql.DB) (int64, error) {
	var n int64
	err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'goose_db_version'").Scan(&n)
	if err != nil || n == 0 {
		return 0, err
	}
	err = db.QueryRowContext(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version").Scan(&n)
	return n, err
}

// fileSize returns the size of a file, or 0 if the file does not exist.
func fileSize(path string) (int64, error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return st.Size(), nil
}
