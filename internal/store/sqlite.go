package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"

	driver "modernc.org/sqlite"
	code "modernc.org/sqlite/lib"
)

const (
	// applicationID is the number in the file's header that identifies a store of telex. The bytes of applicationID
	// spell "telx".
	// https://www.sqlite.org/pragma.html#pragma_application_id
	applicationID = 0x74656c78
	// readers is the maximum number of concurrent checks and backups.
	readers = 4
	// busyTimeout is how long a write waits while another process holds SQLite's lock. Only a backup or a check in another
	// process can hold SQLite's lock.
	busyTimeout = "busy_timeout(10000)"
	// fullSync makes SQLite sync the write-ahead log at each commit, and the file at each checkpoint.
	fullSync = "synchronous(FULL)"
	// logLimit is the size, in bytes, to which the write-ahead log is truncated after a checkpoint.
	logLimit = "journal_size_limit(16777216)"
)

// openWriter returns a pool of one connection, because SQLite allows only one writer at a time. Canceling a context
// ends the wait for this connection, but not the wait for SQLite's lock.
//
// The data source name sets every pragma, so that the pragmas apply to each connection of the pool. With
// synchronous=FULL, SQLite syncs the log at each commit, so acknowledged messages survive a power loss. With
// synchronous=NORMAL, the last commits could be lost (https://www.sqlite.org/pragma.html#pragma_synchronous), and the
// platform would not send those messages again. The sync takes nearly all the time of a write; see the benchmarks of
// this package. secure_delete overwrites deleted data, even on freed pages, because /forget must really erase the data.
func openWriter(path, journal string) (*sql.DB, error) {
	return openPool(1, address(path, "rw",
		busyTimeout, "foreign_keys(1)", fullSync, "secure_delete(1)", logLimit, "wal_autocheckpoint(0)", "journal_mode("+journal+")"))
}

// openCheckpointer returns a pool of one connection, which moves the write-ahead log into the file. If another
// connection holds a lock, a call on the checkpointer's connection fails at once.
func openCheckpointer(path string) (*sql.DB, error) {
	return openPool(1, address(path, "rw", "busy_timeout(0)", fullSync, logLimit, "wal_autocheckpoint(0)"))
}

// openReaders returns a pool of n read-only connections. If atRest is true, the connections create no files.
func openReaders(path string, n int, atRest bool) (*sql.DB, error) {
	name := address(path, "ro", busyTimeout)
	if atRest {
		name += "&immutable=1" // https://www.sqlite.org/uri.html#uriimmutable
	}
	return openPool(n, name)
}

func openPool(n int, name string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// address returns the data source name of a file.
func address(path, mode string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // on Windows, the path begins with a drive letter
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{
		"mode": {mode}, "_txlock": {"immediate"}, "_pragma": pragmas, "_dqs": {"0"}, "_error_rc": {"1"},
	}.Encode()}
	return u.String()
}

// errDamage is the description of damage that a check of the file has found.
type errDamage string

func (e errDamage) Error() string { return string(e) }

// explain adds the name of the operation to an error, and a remedy if there is one.
func (r *Reader) explain(ctx context.Context, what string, err error) error {
	return r.explainAt(ctx, filepath.Dir(r.path), what, err)
}

// explainAt is like explain, but for a call that wrote into the directory dir.
func (r *Reader) explainAt(ctx context.Context, dir, what string, err error) error {
	if err == nil {
		return nil
	}
	var damage errDamage
	switch kind := sqliteCode(err); {
	case errors.Is(err, errClosed):
		return fmt.Errorf("%s: %w", what, err)
	case ctx.Err() != nil && (kind&0xff == code.SQLITE_INTERRUPT || errors.Is(err, ctx.Err())):
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	case errors.As(err, &damage), kind&0xff == code.SQLITE_CORRUPT, kind&0xff == code.SQLITE_NOTADB:
		return fmt.Errorf("%s: %s is %w (%w): keep a copy of it, then put a backup in its place, "+
			"or move it away to start with an empty store", what, r.path, ErrCorrupt, err)
	case isFull(dir, kind, err):
		return fmt.Errorf("%s: %s: %w (%w): free some space, nothing else is needed",
			what, dir, ErrFull, err)
	case dir == filepath.Dir(r.path) && (kind&0xff == code.SQLITE_READONLY || kind&0xff == code.SQLITE_PERM ||
		kind&0xff == code.SQLITE_CANTOPEN || unwritable(err)):
		return fmt.Errorf("%s: %w: telex must be able to write to %s: run it as the directory's owner, on a file system "+
			"that can be written to, or set STATE_DIRECTORY to another directory", what, err, dir)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// unwritable reports whether the error err means that this user may not write to the file or the directory.
func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTDIR)
}

// full reports whether a full disk caused the error err.
func (r *Reader) full(err error) bool {
	return err != nil && isFull(filepath.Dir(r.path), sqliteCode(err), err)
}

// isFull reports whether a call failed because the disk is full. SQLite sometimes reports a full disk as a read or
// write error. SQLite reports a full disk in this way if the index of the write-ahead log or a temporary file can't
// grow, or if the operating system detects the full disk only during a sync.
func isFull(dir string, kind int, err error) bool {
	switch kind & 0xff {
	case code.SQLITE_FULL:
		return true
	case code.SQLITE_IOERR, code.SQLITE_CANTOPEN:
		return kind == code.SQLITE_IOERR_SHMSIZE || diskFull(dir)
	}
	return outOfSpace(err)
}

// sqliteCode returns SQLite's extended result code for the error err, or 0 if err is not from SQLite.
func sqliteCode(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code()
	}
	return 0
}

// check runs one of SQLite's own checks and returns the problems that the check has found. quick_check reads every
// page. integrity_check also compares tables with their indexes.
func check(ctx context.Context, db *sql.DB, how string) (problems []string, err error) {
	t := &tx{on: db, ctx: ctx}
	for line := range each(t, value[string], "PRAGMA "+how+"(20)") {
		line = strings.TrimPrefix(line, "*** in database main ***\n")
		if line != "ok" {
			problems = append(problems, strings.ReplaceAll(line, "\n", "; "))
		}
	}
	return problems, t.err
}
