package store_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"telex/internal/store"
)

// A child process that is just starting keeps the parent's lock file open until it runs its own program. Even while a
// child process is starting, another process must be able to lock the store after Close.
func TestLockWhileAProcessStarts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	s := mustOpen(t, path)
	shared, err := unix.Dup(store.LockFile(s))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Close(shared); err != nil {
			t.Error(err)
		}
	}()
	mustClose(t, s)
	mustClose(t, mustOpen(t, path))
}
