package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"telex/internal/store"
)

// backedUp makes a backup of a store that contains one waiting message, and returns the path of the backup.
func backedUp(t *testing.T) string {
	t.Helper()
	f, s, _ := newFixture(t)
	f.accept(private("1"), "backup")
	file := filepath.Join(t.TempDir(), "backup.db")
	f.must(s.Backup(t.Context(), file))
	return file
}

func restoreAt() store.Options {
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	return store.Options{Now: func() time.Time { return now }}
}

// Restore must replace the store by the backup, and keep the replaced store with the content of its write-ahead log. A
// second restore must not overwrite the store that the first restore has kept.
func TestRestore(t *testing.T) {
	t.Parallel()
	backup, dir := backedUp(t), t.TempDir()
	path := store.File(dir)
	filled(t, path)
	crashed(t, path)
	o := restoreAt()
	o.Path = path
	for _, want := range []string{path + ".before-restore-20260301T100000Z", path + ".before-restore-20260301T100000Z-2"} {
		done, err := store.Restore(t.Context(), o, backup)
		if err != nil {
			t.Fatal(err)
		}
		if done.Path != path || done.Kept != want {
			t.Errorf("got %+v, want %s kept as %s", done, path, want)
		}
		for _, name := range []string{path, want} {
			if st, err := os.Stat(name); err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("%s: got %v, %v, want mode 0600", name, st, err)
			}
		}
	}
	f := &fixture{T: t, Store: mustOpen(t, path)}
	f.waits("tg:1/backup")
	f.close()
	f.Store = mustOpen(t, path+".before-restore-20260301T100000Z")
	if got := f.waiting(); !strings.Contains(strings.Join(got, " "), "tg:crash/1") {
		t.Errorf("the old store has %q, want what was in its log too", got)
	}
	f.close()
	if _, err := os.Stat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a file is left")
	}
}

// crashed leaves a store whose write-ahead log contains a message, as a killed process does.
func crashed(t *testing.T, path string) {
	t.Helper()
	s := mustOpen(t, path)
	f := &fixture{T: t, Store: s}
	f.accept(private("crash"), "1")
	copies := map[string][]byte{}
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		f.must(err)
		copies[suffix] = b
	}
	f.close()
	for suffix, b := range copies {
		write(t, path+suffix, b)
	}
}

// A restore that fails must change nothing.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	backup := backedUp(t)
	good, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	patched := func(change func([]byte) []byte) func(*testing.T, string) string {
		return func(t *testing.T, _ string) string {
			t.Helper()
			file := filepath.Join(t.TempDir(), "b.db")
			write(t, file, change(append([]byte{}, good...)))
			return file
		}
	}
	for name, c := range map[string]struct {
		file func(t *testing.T, path string) string
		want error
		says string
	}{
		"missing":  {func(t *testing.T, _ string) string { t.Helper(); return filepath.Join(t.TempDir(), "none") }, fs.ErrNotExist, "read backup"},
		"cut off":  {patched(func(b []byte) []byte { return b[:2*4096] }), store.ErrCorrupt, "check backup"},
		"no store": {patched(func(b []byte) []byte { clear(b[68:72]); return b }), store.ErrForeign, "check backup"},
		"of a newer": {func(t *testing.T, _ string) string {
			t.Helper()
			file := patched(func(b []byte) []byte { return b })(t, "")
			raw(t, file, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
			return file
		}, store.ErrNewer, "check backup"},
		"the store itself": {func(_ *testing.T, path string) string { return path }, nil, "is the store itself"},
		"copy of a store in use": {func(t *testing.T, _ string) string {
			t.Helper()
			file := patched(func(b []byte) []byte { return b })(t, "")
			write(t, file+"-wal", []byte("pages"))
			return file
		}, nil, "a copy of a store in use"},
		"held": {func(t *testing.T, path string) string {
			t.Helper()
			s := mustOpen(t, path)
			t.Cleanup(func() { mustClose(t, s) })
			return backup
		}, store.ErrLocked, "is in use by another process"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := store.File(t.TempDir())
			filled(t, path)
			file := c.file(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			o := restoreAt()
			o.Path = path
			_, err = store.Restore(t.Context(), o, file)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v that says %q", err, c.want, c.says)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("the store was changed (%v)", err)
			}
			if names, err := filepath.Glob(path + ".*"); err != nil || len(names) > 1 { // only the lock file may exist
				t.Errorf("got %q, %v, want nothing new", names, err)
			}
		})
	}
}

// Reading a store must create no files beside it, whether the store was closed or its process was killed.
func TestReadingMakesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := store.File(dir)
	filled(t, path)
	before := files(t, dir)
	r, err := store.OpenReadOnly(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := r.Admitted(t.Context()); err != nil {
		t.Error(err)
	}
	if during := files(t, dir); during != before {
		t.Errorf("while it is read there is %s, before it was %s", during, before)
	}
	mustClose(t, r)
	if after := files(t, dir); after != before {
		t.Errorf("afterwards there is %s, before it was %s", after, before)
	}
}

func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}
