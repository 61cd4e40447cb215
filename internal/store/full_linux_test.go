package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"telex/internal/store"
)

// The same on a real file system without room, for whoever may mount one; TestFull asks nothing of the user.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0700"); err != nil {
		t.Logf("no disk of its own (%v): TestFull has to do", err)
		return
	}
	defer func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	path, ballast := filepath.Join(dir, "telex.db"), filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 400<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	remove := func() {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
	fillUp(t, path, mustOpen(t, path), remove)

	// No room to begin with: nothing half-made stays.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600)
	if err == nil {
		t.Fatal("the disk has room")
	}
	if _, err := store.Open(t.Context(), store.Options{Path: path}); !errors.Is(err, store.ErrFull) {
		t.Errorf("new store: got %v, want %v", err, store.ErrFull)
	}
	remove()
	s := mustOpen(t, path)
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk has room")
	}
	if err := s.Backup(t.Context(), filepath.Join(dir, "backup.db")); !errors.Is(err, store.ErrFull) {
		t.Errorf("backup: got %v, want %v", err, store.ErrFull)
	}
	for _, left := range []string{"backup.db", "backup.db.partial", "telex.db.new"} {
		if _, err := os.Stat(filepath.Join(dir, left)); err == nil {
			t.Errorf("%s was left behind", left)
		}
	}
	mustClose(t, s)
}
