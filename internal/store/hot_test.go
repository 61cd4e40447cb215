package store_test

import (
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"telex/internal/store"
)

// If a process dies during a transaction in a store that is not in WAL mode, the process leaves SQLite's rollback
// journal behind. The next process must roll this transaction back. Only a restored backup that no process has opened
// for writing is not in WAL mode.
func TestHotJournalIsRolledBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "telex.db")
	options := store.Options{Path: path, Log: slog.New(slog.DiscardHandler)}
	s, err := store.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // not closed earlier, because this connection plays the process that was killed
	db.SetMaxOpenConns(1)
	for _, q := range []string{
		"PRAGMA journal_mode = DELETE", "PRAGMA cache_size = 1", "BEGIN",
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
		INSERT INTO moved (endpoint, old_chat, new_chat) SELECT 'tg', i, 'x' FROM n`,
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	dead := t.TempDir()
	for _, suffix := range []string{"", "-journal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dead, "telex.db"+suffix), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options.Path = filepath.Join(dead, "telex.db")
	s, err = store.Open(t.Context(), options)
	if err != nil {
		t.Fatalf("open after a crash: %v", err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	f := &fixture{T: t, Store: s}
	f.accept(private("7"), "1")
	f.waits("tg:7/1") // chat 7 would have another id if the change that was not committed were visible
}
