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
	// applicationID stands in the file's header and tells a store from other databases: "telx".
	// https://www.sqlite.org/pragma.html#pragma_application_id
	applicationID = 0x74656c78
	// readers is how many checks and backups run side by side.
	readers = 4
	// busyTimeout is how long a write waits for another process, which only a backup or a check can be.
	busyTimeout = "busy_timeout(10000)"
	// fullSync syncs the log with each commit, and the file with each checkpoint.
	fullSync = "synchronous(FULL)"
	// logLimit is how large, in bytes, the write-ahead log stays after it was moved into the file.
	logLimit = "journal_size_limit(16777216)"
)

// openWriter returns a pool of one connection: SQLite has one writer at a time, and waiting for a connection
// obeys the context, which waiting for SQLite's lock does not.
//
// Every pragma stands in the address, so that each connection that the pool opens has it. synchronous=FULL
// syncs the log with each commit: what was acknowledged upstream survives a power loss. With NORMAL the file
// stays sound, but the last commits may be gone (https://www.sqlite.org/pragma.html#pragma_synchronous), and
// the platform would never send them again. The sync is nearly all that a write costs; see the benchmark.
// secure_delete overwrites what is deleted, on pages that become free too: who forgets means it.
func openWriter(path, journal string) (*sql.DB, error) {
	return openPool(1, address(path, "rw",
		busyTimeout, "foreign_keys(1)", fullSync, "secure_delete(1)", logLimit, "wal_autocheckpoint(0)", "journal_mode("+journal+")"))
}

// openCheckpointer returns a pool of one connection that moves the log into the file and waits for no lock.
func openCheckpointer(path string) (*sql.DB, error) {
	return openPool(1, address(path, "rw", "busy_timeout(0)", fullSync, logLimit, "wal_autocheckpoint(0)"))
}

// openReaders returns a pool of n connections that can't write. They make no file beside one that is at rest.
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

// address is the data source name of a file.
func address(path, mode string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{
		"mode": {mode}, "_txlock": {"immediate"}, "_pragma": pragmas, "_dqs": {"0"}, "_error_rc": {"1"},
	}.Encode()}
	return u.String()
}

// errDamage is what a check of the file found.
type errDamage string

func (e errDamage) Error() string { return string(e) }

// explain says what a failed call was about and, where a person can do something, what.
func (r *Reader) explain(ctx context.Context, what string, err error) error {
	return r.explainAt(ctx, filepath.Dir(r.path), what, err)
}

// explainAt is explain for a call that wrote into dir.
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

// unwritable reports whether the system lets nobody or not this user write there.
func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTDIR)
}

// full reports whether a call failed for want of room.
func (r *Reader) full(err error) bool {
	return err != nil && isFull(filepath.Dir(r.path), sqliteCode(err), err)
}

// isFull also finds the full disks that SQLite reports as a failure to read or write: when the shared index of
// the log or a temporary file can't grow, or when the system notices only at the sync.
func isFull(dir string, kind int, err error) bool {
	switch kind & 0xff {
	case code.SQLITE_FULL:
		return true
	case code.SQLITE_IOERR, code.SQLITE_CANTOPEN:
		return kind == code.SQLITE_IOERR_SHMSIZE || diskFull(dir)
	}
	return outOfSpace(err)
}

// sqliteCode returns the extended result code in err's chain, or 0.
func sqliteCode(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code()
	}
	return 0
}

// check returns what is wrong with the file, by SQLite's own means: nil when nothing is. how is quick_check,
// which reads every page, or integrity_check, which compares tables and indexes too.
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
