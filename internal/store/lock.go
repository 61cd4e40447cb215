package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// errHeld means that another process holds a lock file.
var errHeld = errors.New("lock is held")

// lock prevents all other processes from writing to a store. The lock is on a separate file, not on the database file.
// If the lock were on the database file, closing any other descriptor of that file would release SQLite's locks:
// https://www.sqlite.org/howtocorrupt.html#posix_close_bug.
type lock struct{ file *os.File }

// takeLock locks the store at path. The parameter held is the name of the store in error messages. The kernel releases
// the lock when the process ends, for whatever reason.
func takeLock(path, held string) (*lock, error) {
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_RDWR, fileMode)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode); err != nil {
			return nil, err
		}
		if err = giveToOwner(name); err != nil {
			_ = f.Close() // ignore the error: nothing was written
		}
	}
	if err != nil {
		return nil, err
	}
	if err := tryLock(f); err != nil {
		err = explainLock(held, name, f, err)
		_ = f.Close() // ignore the error: nothing was written
		return nil, err
	}
	l := &lock{file: f}
	// The process id in the lock file is only information for people. The lock works even if the process id can't be
	// written, for example on a full disk.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return l, nil
}

// Reserve locks a state directory in which the store is not a file because it is, for example, a PostgreSQL database.
// So two daemons can't use the same state directory. Reserve fails with ErrLocked if another daemon uses the directory,
// even if that daemon has another kind of store.
func Reserve(dir string) (release func() error, err error) {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, err
	}
	l, err := takeLock(File(dir), "the state directory "+dir)
	if err != nil {
		return nil, err
	}
	return l.release, nil
}

// explainLock returns an error that says why the lock file f can't be locked. The parameter held is the name of the
// locked store or directory.
func explainLock(held, name string, f *os.File, err error) error {
	if errors.Is(err, errHeld) {
		return fmt.Errorf("%s is %w%s; only one telex at a time can use it: "+
			"stop the other one, or give this one a state directory of its own", held, ErrLocked, readHolder(f))
	}
	return fmt.Errorf("lock %s: %w", name, err)
}

// CheckLock returns an error that wraps ErrLocked if another process has locked the store at path. If the lock file
// does not exist, CheckLock does not create it.
func CheckLock(path string) error {
	name := path + ".lock"
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // ignore the error: nothing was written; closing also releases the lock
	if err := tryLock(f); err != nil {
		return explainLock(path, name, f, err)
	}
	return nil
}

// readHolder returns the process id in the lock file as " (pid N)", or "" if the file contains no process id.
func readHolder(f *os.File) string {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return ""
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (pid %d)", pid)
}

// release releases the lock. release unlocks the file before closing it: a child process that is just starting has the
// file open too, and would keep the lock until it runs its own program. The lock file is not deleted, because the next
// process may already have locked it.
func (l *lock) release() error {
	return errors.Join(l.file.Truncate(0), unlock(l.file), l.file.Close())
}

// tryLock locks the file f, or returns errHeld at once if the lock is held already. The lock belongs to the open file,
// so a second Open of the store in the same process fails, too.
func tryLock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errHeld
		}
		return err
	}
}

// unlock releases the lock that tryLock took.
func unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
