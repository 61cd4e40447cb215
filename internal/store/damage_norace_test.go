//go:build !race

package store_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store"
)

// The first bytes of each page contain the page's type. TestDamagedPages damages the first bytes of one page after the
// other; the store must then refuse to open.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	sound := filled(t, path)
	for at := 4096; at < len(sound); at += 4096 {
		damaged := slices.Clone(sound)
		copy(damaged[at:], []byte{0xA5, 0x5A, 0xFF, 0x00, 0xA5, 0x5A, 0xFF, 0x00})
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := useAll(t.Context(), path); !errors.Is(err, store.ErrCorrupt) || !strings.HasPrefix(err.Error(), "open store") {
			t.Errorf("page %d: got %v, want it refused at the start", at/4096+1, err)
		}
	}
}

// TestRandomDamage damages the file at random places. Each time the file is damaged, the calls must either fail with an
// error that describes the damage, or work. On a damaged file, the calls must not panic or fail with an error of
// another kind.
func TestRandomDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	sound := filled(t, path)
	random := rand.New(rand.NewPCG(3, 4))
	found := 0
	for i := range 60 {
		damaged := slices.Clone(sound)
		at := random.IntN(len(damaged) - 32)
		for k := range 1 + random.IntN(32) {
			damaged[at+k] = byte(random.Uint32())
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		err := useAll(t.Context(), path)
		switch {
		case err == nil:
		case errors.Is(err, store.ErrCorrupt), errors.Is(err, store.ErrForeign), errors.Is(err, store.ErrNewer):
			found++
		default:
			t.Errorf("damage %d at byte %d: got %v, want it named", i, at, err)
		}
	}
	t.Logf("found %d of 60; the others hit the middle of texts", found)
	if found == 0 {
		t.Error("no damage was found")
	}
}

// useAll opens a store and makes all the calls that a daemon makes.
func useAll(ctx context.Context, path string) (err error) {
	s, err := store.Open(ctx, store.Options{Path: path})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := s.Pending(ctx); err != nil {
		return err
	}
	for i := range 20 {
		if _, _, err := s.Session(ctx, private(chat.ChatID(strconv.Itoa(i)))); err != nil {
			return err
		}
	}
	if _, err := s.Accept(ctx, private("new"), message(private("new"), "1")); err != nil {
		return err
	}
	if _, err := s.Sweep(ctx, time.Now(), time.Nanosecond); err != nil {
		return err
	}
	_, err = s.Check(ctx)
	return err
}

// SQLite does not detect a row that refers to a missing row, so Check must find such rows.
func TestCheckFindsOrphans(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	mustClose(t, mustOpen(t, path))
	raw(t, path, "INSERT INTO entry (conversation, body, at) VALUES (77, '', 0)")
	r, err := store.OpenReadOnly(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, r)
	rep, err := r.Check(t.Context())
	if err != nil || len(rep.Problems) != 1 || !strings.Contains(rep.Problems[0], "conversation") {
		t.Errorf("got %+v, %v, want the row named", rep, err)
	}
}

// SQLite does not detect that a table, a column or an index is missing, so Check must find this.
func TestCheckFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string][]string{
		"DROP TABLE moved":                        {"table moved is missing"},
		"DROP TABLE part":                         {"table part is missing"},
		"ALTER TABLE session DROP COLUMN summary": {"column summary of table session is missing"},
		"DROP INDEX usage_person":                 {"index usage_person of table usage is missing"},
		"CREATE TABLE extra (a TEXT)":             nil,
	} {
		path := filepath.Join(t.TempDir(), "telex.db")
		mustClose(t, mustOpen(t, path))
		raw(t, path, statement)
		r, err := store.OpenReadOnly(t.Context(), store.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		rep, err := r.Check(t.Context())
		if err != nil || !slices.Equal(rep.Problems, want) {
			t.Errorf("%s: got %q, %v, want %q", statement, rep.Problems, err, want)
		}
		mustClose(t, r)
	}
}
