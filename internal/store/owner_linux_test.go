package store_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"telex/internal/store"
)

// Root creates files in the directory of another user. All these files must belong to that user: the store, its log,
// the lock file, the reserve file, and the files of a restore. Only root can run this test.
func TestFilesGetTheOwnerOfTheDirectory(t *testing.T) {
	t.Parallel()
	const uid, gid = 61234, 61235
	dir := t.TempDir()
	path := store.File(dir)
	theirs := func(what string) {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			st, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if sys, ok := st.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 && (sys.Uid != uid || sys.Gid != gid) {
				t.Errorf("%s: %s belongs to %d:%d, want %d:%d", what, filepath.Base(name), sys.Uid, sys.Gid, uid, gid)
			}
		}
	}
	backup := backedUp(t)
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	s := mustOpen(t, path)
	f := &fixture{T: t, Store: s}
	f.accept(private("1"), "1")
	theirs("a new store")
	f.close()
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, path)
	theirs("a store without its lock file")
	mustClose(t, s)
	if _, err := store.Restore(t.Context(), store.Options{Path: path}, backup); err != nil {
		t.Fatal(err)
	}
	theirs("a restored store")
}
