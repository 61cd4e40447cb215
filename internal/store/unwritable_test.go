package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"telex/internal/store"
)

// If a directory is not writable, the error must name the directory and say what to do.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	says := func(err, is error) {
		t.Helper()
		if err == nil || !errors.Is(err, is) || !strings.Contains(err.Error(), "set STATE_DIRECTORY to another directory") {
			t.Errorf("got %v, want what to do about %v", err, is)
		}
	}
	for _, is := range []error{fs.ErrPermission, syscall.EROFS} { // simulate these errors, because root never gets them
		says(store.Explain(t.Context(), "/var/lib/telex/telex.db", fmt.Errorf("mkdir: %w", is)), is)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(t.Context(), store.Options{Path: store.File(filepath.Join(file, "state"))})
	says(err, syscall.ENOTDIR)
}
