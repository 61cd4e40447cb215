package store_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"telex/internal/chat"
	"telex/internal/store"
)

func mustOpen(t *testing.T, path string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustClose(t *testing.T, s interface{ Close() error }) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// write replaces the content of a store's file.
func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// raw runs statements directly on a database, without the store.
func raw(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	mustClose(t, db)
}

// refused checks that opening the store fails with the error want, that this error contains the texts in says, and that
// the file has not changed.
func refused(t *testing.T, path string, want error, says ...string) {
	t.Helper()
	before, _ := os.ReadFile(path)
	s, err := store.Open(t.Context(), store.Options{Path: path})
	if err == nil {
		mustClose(t, s)
	}
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
	for _, s := range append(says, path) {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("got %q, want it to say %q", err, s)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("got %q, want one line", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the file was changed")
	}
}

func TestDir(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"STATE_DIRECTORY": "/var/lib/telex", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/var/lib/telex"},
		{map[string]string{"STATE_DIRECTORY": "/var/lib/a:/var/lib/b"}, "/var/lib/a"},
		{map[string]string{"STATE_DIRECTORY": ":/var/lib/b"}, "/var/lib/b"},
		{map[string]string{"STATE_DIRECTORY": "state", "HOME": "/h"}, ""},
		{map[string]string{"STATE_DIRECTORY": "state:/var/lib/b", "HOME": "/h"}, ""},
		{map[string]string{"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/telex"},
		{map[string]string{"XDG_STATE_HOME": "x", "HOME": "/h"}, "/h/.local/state/telex"},
		{map[string]string{"HOME": "/h"}, "/h/.local/state/telex"},
		{map[string]string{"HOME": "relative"}, ""},
		{nil, ""},
	} {
		got, err := store.Dir(func(name string) string { return test.env[name] })
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%v: got %q, %v, want %q", test.env, got, err, test.want)
		}
	}
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b #?%")
	path := filepath.Join(dir, "telex.db")
	mode := func(name string, want fs.FileMode) {
		t.Helper()
		st, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := st.Mode().Perm(); got != want {
			t.Errorf("%s: got mode %o, want %o", name, got, want)
		}
	}
	files := func() {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			mode(filepath.Join(dir, e.Name()), 0o600)
		}
		if len(entries) < 5 {
			t.Errorf("got %v, want the file, its log, its index, the lock and the reserve", entries)
		}
	}
	s := mustOpen(t, path)
	mode(dir, 0o700)
	files()
	if err := s.Backup(t.Context(), filepath.Join(dir, "backup")); err != nil {
		t.Fatal(err)
	}
	files()
	mustClose(t, s)
	for _, suffix := range []string{"", ".lock"} {
		if err := os.Chmod(path+suffix, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, path)
	files()
	mustClose(t, s)
}

// SQLite's settings (pragmas) must be set on each connection of a pool, not only on the first one.
func TestConnections(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "telex.db"))
	defer mustClose(t, s)
	pragmas := func(c *sql.Conn, want map[string]string) {
		t.Helper()
		for name, value := range want {
			var got string
			if err := c.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&got); err != nil || got != value {
				t.Errorf("%s: got %q, %v, want %q", name, got, err, value)
			}
		}
	}
	pragmas(store.Writer(s), map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "10000"})
	readers := store.Readers(s)
	for range readers.Stats().MaxOpenConnections {
		c, err := readers.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer mustClose(t, c)
		pragmas(c, map[string]string{"busy_timeout": "10000"})
		if _, err := c.ExecContext(t.Context(), "DELETE FROM inbox"); err == nil {
			t.Error("a reader wrote")
		}
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link := filepath.Join(dir, "telex.db"), filepath.Join(dir, "link.db")
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), roleVariable+"=hold", pathVariable+"="+path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "holding\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	pid := "pid " + strconv.Itoa(child.Process.Pid)
	refused(t, path, store.ErrLocked, pid)
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), store.Options{Path: link}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("by another name: got %v, want %v", err, store.ErrLocked)
	}
	// Reading and copying a store need no lock.
	r, err := store.OpenReadOnly(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if rep, err := r.Check(t.Context()); err != nil || len(rep.Problems) > 0 || rep.Schema != store.Latest() {
		t.Errorf("got %+v, %v, want a sound store", rep, err)
	}
	if err := r.Backup(t.Context(), filepath.Join(dir, "backup.db")); err != nil {
		t.Error(err)
	}
	mustClose(t, r)
	kill()
	_ = child.Wait() // ignore the error of Wait: the test has killed the child
	s := mustOpen(t, path)
	refused(t, path, store.ErrLocked, "pid "+strconv.Itoa(os.Getpid()))
	mustClose(t, s)
	s = mustOpen(t, path)
	mustClose(t, s)
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	if _, err := store.OpenReadOnly(t.Context(), store.Options{Path: path}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a store was made to look at it")
	}
	if _, err := store.OpenReadOnly(t.Context(), store.Options{}); err == nil {
		t.Error("no path: got no error")
	}
	if _, err := store.Open(t.Context(), store.Options{Path: t.TempDir()}); err == nil {
		t.Error("a directory: got no error")
	}
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	mustClose(t, mustOpen(t, path))
	raw(t, path, fmt.Sprintf("INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, 1)", store.Latest()+1))
	refused(t, path, store.ErrNewer, fmt.Sprintf("schema %d", store.Latest()+1), "backup")
	if _, err := store.OpenReadOnly(t.Context(), store.Options{Path: path}); !errors.Is(err, store.ErrNewer) {
		t.Errorf("got %v, want %v", err, store.ErrNewer)
	}
}

func TestForeignFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	raw(t, path, "CREATE TABLE bookmarks (url TEXT)")
	refused(t, path, store.ErrForeign, "file of its own")
}

// old creates a store with the schema of an older version.
func old(t *testing.T, path string, schema int64) {
	t.Helper()
	dump, err := os.ReadFile(filepath.Join("testdata", "schema1.sql"))
	if err != nil {
		t.Fatal(err)
	}
	raw(t, path, string(dump))
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.MigrateTo(t.Context(), db, schema); err != nil {
		t.Fatalf("to schema %d: %v", schema, err)
	}
	mustClose(t, db)
}

// empty returns the content of an empty store. Copying this content to a file is much faster than creating a store.
func empty(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "telex.db")
	mustClose(t, mustOpen(t, path))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// filled creates a store of about fifty pages, closes it, and returns its content.
func filled(t *testing.T, path string) []byte {
	t.Helper()
	s := mustOpen(t, path)
	for i := range 20 {
		c := private(chat.ChatID(strconv.Itoa(i)))
		if _, err := s.Accept(t.Context(), c, message(c, "1")); err != nil {
			t.Fatal(err)
		}
		if err := store.Append(t.Context(), s, c, slices.Repeat([]string{strings.Repeat("long text. ", 20)}, 30)...); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, s)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCorrupt(t *testing.T) {
	t.Parallel()
	sound := filled(t, filepath.Join(t.TempDir(), "telex.db"))
	garbage := bytes.Repeat([]byte{0xA5, 0x5A, 0xFF, 0x00}, 16)
	over := func(at int) []byte {
		b := slices.Clone(sound)
		copy(b[at:], garbage)
		return b
	}
	for name, content := range map[string][]byte{
		"zero length":      {},
		"not a database":   []byte("# telex\nthis is some text file that is long enough to be read as a header of a database, by mistake or not\n"),
		"one byte":         {0},
		"zeros":            make([]byte, len(sound)),
		"header":           over(0),
		"schema page":      over(100),
		"second page":      over(4096),
		"third page":       over(8192),
		"a page of tables": over(len(sound) / 4096 / 2 * 4096),
		"half of it":       sound[:len(sound)/8192*4096],
		"half a page":      sound[:len(sound)/2+100],
	} {
		path := filepath.Join(t.TempDir(), "telex.db")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			refused(t, path, store.ErrCorrupt, "keep a copy", "backup")
			if _, err := store.OpenReadOnly(t.Context(), store.Options{Path: path}); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("to read: got %v, want %v", err, store.ErrCorrupt)
			}
		})
	}
}

// If somebody moves only the database file away, its write-ahead log remains. SQLite would apply this old log to a new
// database file with the same name. So if only the log is left, Open must fail instead of creating a new store.
func TestFileGoneLogLeft(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	if err := os.WriteFile(path+"-wal", []byte("frames"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, path, store.ErrCorrupt, "telex.db-wal")
}

// If a process was killed while it created the store, the next process must be able to create it.
func TestInterruptedCreation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	for _, suffix := range []string{".new", ".new-journal"} {
		if err := os.WriteFile(path+suffix, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, mustOpen(t, path))
}

// A stored message that can't be decoded must not prevent other messages from being answered.
func TestUnreadableMessage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	f := &fixture{T: t, Store: mustOpen(t, path)}
	f.accept(private("1"), "1", "2", "3")
	f.begin("t", private("1"), "2")
	f.begin("u", private("1"), "3")
	f.must(f.Record(t.Context(), "t", chat.Part{State: chat.PartStands, Spans: []chat.Span{{Kind: "b"}}}))
	f.close()
	raw(t, path, "UPDATE inbox SET body = '{' WHERE message IN ('1', '3')", "UPDATE part SET spans = '['")
	s := mustOpen(t, path)
	f.Store = s
	f.waits("tg:1/2!")
	turns, err := f.Unfinished(t.Context())
	f.must(err)
	for _, turn := range turns {
		switch {
		case turn.ID == "u" && !turn.Void, turn.ID == "t" && turn.Void:
			t.Errorf("got %+v, want it void only where no message could be read", turn)
		case turn.ID == "t" && (len(turn.Parts) != 1 || turn.Parts[0].Spans != nil):
			t.Errorf("got %+v, want the part without formatting", turn.Parts)
		}
	}
	rep, err := s.Check(t.Context())
	f.must(err)
	if len(rep.Problems) != 2 || !strings.Contains(rep.Problems[0], "row 1") || !strings.Contains(rep.Problems[1], "row 3") {
		t.Errorf("got %v, want the two rows named", rep.Problems)
	}
	f.close()
}
