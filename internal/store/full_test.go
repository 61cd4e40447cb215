package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"telex/internal/chat"
	"telex/internal/store"
)

// A store that can't grow any more refuses, keeps what it took, and goes on once it can.
func TestFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	s := mustOpen(t, path)
	write, _ := store.Pools(s)
	limit := func(pages int) {
		t.Helper()
		if _, err := write.ExecContext(t.Context(), "PRAGMA max_page_count="+strconv.Itoa(pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(60)
	fillUp(t, path, s, func() { limit(1 << 20) })
}

// fillUp accepts messages until the store is full, then makes room and sees what is there.
func fillUp(t *testing.T, path string, s *store.Store, makeRoom func()) {
	t.Helper()
	c := private("1")
	text := strings.Repeat("text ", 500)
	accept := func(i int) (bool, error) {
		in := message(c, chat.MessageID(strconv.Itoa(i)))
		in.Text, in.Resume = text, string(in.ID)
		return s.Accept(t.Context(), c, in)
	}
	accepted := 0
	var err error
	for err == nil {
		if _, err = accept(accepted); err == nil {
			accepted++
		}
		if accepted > 100000 {
			t.Fatal("the store was never full")
		}
	}
	if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), filepath.Dir(path)) {
		t.Fatalf("got %v, want %v, naming the place", err, store.ErrFull)
	}
	t.Logf("full after %d messages: %v", accepted, err)
	for range 5 { // it stays refused, and harms nothing
		if fresh, err := accept(accepted); fresh || !errors.Is(err, store.ErrFull) {
			t.Fatalf("got fresh %v, %v, want %v", fresh, err, store.ErrFull)
		}
	}
	there := func(want int) {
		t.Helper()
		pending, err := s.Pending(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(pending) != want {
			t.Fatalf("got %d messages, want the %d that were accepted", len(pending), want)
		}
		cursor, err := s.Resume(t.Context(), c.Endpoint)
		if err != nil || cursor != strconv.Itoa(want-1) {
			t.Fatalf("got cursor %q, %v, want that of the last accepted message, %d", cursor, err, want-1)
		}
	}
	there(accepted)
	makeRoom()
	if fresh, err := accept(accepted); !fresh || err != nil {
		t.Fatalf("with room: got fresh %v, %v, want accepted", fresh, err)
	}
	there(accepted + 1)
	mustClose(t, s)
	r, err := store.OpenReadOnly(context.WithoutCancel(t.Context()), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, r)
	rep, err := r.Check(t.Context())
	if err != nil || len(rep.Problems) > 0 || rep.Pending != int64(accepted+1) {
		t.Errorf("got %+v, %v, want all messages and no problem", rep, err)
	}
}
