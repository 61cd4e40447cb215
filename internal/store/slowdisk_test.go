package store_test

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// slowDisk replaces the part of SQLite that accesses files (its VFS), so that syncing files takes longer in directories
// that a test chooses. https://www.sqlite.org/vfs.html
type slowDisk struct {
	open uintptr // SQLite's own xOpen

	mu     sync.Mutex
	dirs   map[string]*slowDir
	files  map[uintptr]slowFile // the open files in slow directories; the key is SQLite's file handle
	tables map[uintptr]uintptr  // maps each of SQLite's method tables for files to its slow version
}

// slowFile is an open file in a slow directory.
type slowFile struct {
	dir  *slowDir
	sync uintptr // SQLite's own function xSync for this file
}

// slowDir is a directory in which syncing a file takes a long time.
type slowDir struct {
	takes time.Duration
	mu    sync.Mutex
	done  []span
}

// span is a period of time.
type span struct{ from, to time.Time }

// slowed is the slowDisk that all stores in these tests use. installDisk makes SQLite use it before the tests run.
var slowed = &slowDisk{
	dirs: map[string]*slowDir{}, files: map[uintptr]slowFile{}, tables: map[uintptr]uintptr{},
}

// installDisk makes SQLite use slowed for all files.
func installDisk() error {
	tls := libc.NewTLS()
	defer tls.Close()
	if rc := sqlite3.Xsqlite3_initialize(tls); rc != sqlite3.SQLITE_OK {
		return errors.New("SQLite can't be initialized")
	}
	own := sqlite3.Xsqlite3_vfs_find(tls, 0)
	vfs := (*sqlite3.Tsqlite3_vfs)(pointer(libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})))))
	*vfs = *(*sqlite3.Tsqlite3_vfs)(pointer(own))
	name, err := libc.CString("slow")
	if err != nil {
		return err
	}
	slowed.open = vfs.FxOpen
	vfs.FzName, vfs.FxOpen, vfs.FpNext = name, address(openSlowly), 0
	if rc := sqlite3.Xsqlite3_vfs_register(tls, uintptr(unsafe.Pointer(vfs)), 1); rc != sqlite3.SQLITE_OK {
		return errors.New("the slow disk can't be registered")
	}
	return nil
}

// pointer converts an address in SQLite's memory to a pointer. The conversion is safe because Go's garbage collector
// does not manage SQLite's memory.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// address returns the address under which SQLite can call the function f. The SQLite in these tests is C code that was
// translated to Go.
func address(f any) uintptr {
	type iface [2]uintptr
	return (*iface)(unsafe.Pointer(&f))[1]
}

// openSlowly implements xOpen.
func openSlowly(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	open := *(*func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32)(unsafe.Pointer(&struct{ uintptr }{slowed.open}))
	rc := open(tls, vfs, name, file, flags, out)
	slowed.mu.Lock()
	defer slowed.mu.Unlock()
	delete(slowed.files, file) // delete the entry of an earlier file with the same handle, if there is one
	if rc != sqlite3.SQLITE_OK || name == 0 {
		return rc
	}
	d := slowed.dirs[filepath.Dir(libc.GoString(name))]
	if d == nil {
		return rc
	}
	opened := (*sqlite3.Tsqlite3_file)(pointer(file))
	own := opened.FpMethods
	slowed.files[file] = slowFile{dir: d, sync: (*sqlite3.Tsqlite3_io_methods)(pointer(own)).FxSync}
	if slowed.tables[own] == 0 {
		table := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{})))
		methods := (*sqlite3.Tsqlite3_io_methods)(pointer(table))
		*methods = *(*sqlite3.Tsqlite3_io_methods)(pointer(own))
		methods.FxSync = address(syncSlowly)
		slowed.tables[own] = table
	}
	opened.FpMethods = slowed.tables[own]
	return rc
}

// syncSlowly implements xSync.
func syncSlowly(tls *libc.TLS, file uintptr, flags int32) int32 {
	began := time.Now()
	slowed.mu.Lock()
	f := slowed.files[file]
	slowed.mu.Unlock()
	rc := (*(*func(*libc.TLS, uintptr, int32) int32)(unsafe.Pointer(&struct{ uintptr }{f.sync})))(tls, file, flags)
	f.dir.wait(began)
	return rc
}

// slowDirOf makes each sync of a file in the directory dir take the given time.
func slowDirOf(t *testing.T, dir string, takes time.Duration) *slowDir {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := &slowDir{takes: takes}
	slowed.mu.Lock()
	defer slowed.mu.Unlock()
	slowed.dirs[real] = d
	return d
}

func (d *slowDir) wait(began time.Time) {
	time.Sleep(time.Until(began.Add(d.takes))) // wait, to imitate a slow disk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = append(d.done, span{began, time.Now()})
}

// beside returns how much of the duration of a call was outside of syncs.
func (d *slowDir) beside(call span) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	rest, at := call.to.Sub(call.from), call.from
	for _, s := range d.done { // the syncs are ordered by when they ended
		from, to := later(s.from, at), s.to
		if call.to.Before(to) {
			to = call.to
		}
		if to.After(from) {
			rest -= to.Sub(from)
			at = to
		}
	}
	return rest
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
