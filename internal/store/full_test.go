package store_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"telex/internal/chat"
	"telex/internal/store"
)

// A limit prevents the store's file from growing. While the file can't grow, the store must refuse new messages and
// keep the stored ones. When the file can grow again, the store must accept messages.
func TestFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	s, clock := openTimed(t, path)
	limit := func(pages int) {
		t.Helper()
		if _, err := store.Writer(s).ExecContext(t.Context(), "PRAGMA max_page_count="+strconv.Itoa(pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(60)
	fillUp(t, path, s, func() { limit(1 << 20); clock.advance(store.KeepEvery) })
}

// openTimed opens a store with a clock that only the test moves.
func openTimed(t *testing.T, path string) (*store.Store, *clock) {
	t.Helper()
	c := &clock{}
	s, err := store.Open(t.Context(), store.Options{Path: path, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// When space runs out, the store must delete the reserve file, so that running turns can end. Until the reserve file
// exists again, the store must accept no message. When the store accepts messages again, it must log this (F43).
func TestReserve(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	var log bytes.Buffer
	var clock clock
	s, err := store.Open(t.Context(), store.Options{Path: path, Log: slog.New(slog.NewTextHandler(&log, nil)), Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	f := &fixture{T: t, Store: s}
	c, stands := private("1"), func(want bool) {
		t.Helper()
		st, err := os.Stat(path + "-reserve")
		if got := err == nil && st.Size() == store.ReserveSize; got != want {
			t.Fatalf("the reserve stands: got %v, want %v", got, want)
		}
	}
	stands(true)
	f.accept(c, "1")
	f.begin("t", c, "1")
	limit := func(pages int) {
		t.Helper()
		if _, err := store.Writer(s).ExecContext(t.Context(), "PRAGMA max_page_count="+strconv.Itoa(pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // SQLite never sets the size limit below the file's current size
	part := chat.Part{State: chat.PartStands, Text: strings.Repeat("text ", 5000)}
	for range 3 {
		f.is(f.Record(t.Context(), "t", part), store.ErrFull)
		stands(false) // the store deleted the reserve file, although this frees no space below the limit of this test
	}
	inTheWay := filepath.Join(path+"-reserve", "x") // a directory at this path prevents the reserve file from being created
	f.must(os.MkdirAll(inTheWay, 0o700))
	for range 3 {
		clock.advance(store.KeepEvery)
		if _, err := f.Accept(t.Context(), c, message(c, "2")); err == nil {
			t.Fatal("a message was taken without a reserve")
		}
	}
	limit(1 << 20)
	f.must(f.Record(t.Context(), "t", part))
	f.waits("tg:1/1!")
	f.must(os.RemoveAll(path + "-reserve"))
	clock.advance(store.KeepEvery - 1)
	if _, err := f.Accept(t.Context(), c, message(c, "2")); err == nil {
		t.Error("a message was taken before the reserve was tried again")
	}
	stands(false) // within KeepEvery, the store must not try again to create the reserve file, because each attempt fills the disk
	clock.advance(1)
	f.accept(c, "2")
	f.accept(c, "3")
	stands(true)
	for _, line := range []string{"the disk is full; running turns finish", "the disk has space again"} {
		if n := strings.Count(log.String(), line); n != 1 {
			t.Errorf("%q was said %d times, want once:\n%s", line, n, log.String())
		}
	}
}

// While the disk has no space, the writer must refuse new messages before it begins a transaction. If the writer
// refused messages within a transaction, the transaction would stay open while each message is checked.
func TestRefusedMessagesBeginNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "telex.db")
		inTheWay := filepath.Join(path+"-reserve", "x") // a directory at this path prevents the reserve file from being created
		if err := os.MkdirAll(inTheWay, 0o700); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, path)
		defer mustClose(t, s)
		release := store.Stall(t.Context(), s)
		before := store.Commits(s)
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				c := private(chat.ChatID(strconv.Itoa(i)))
				if _, err := s.Accept(t.Context(), c, message(c, "1")); err == nil {
					t.Error("a message was taken without a reserve")
				}
			})
		}
		synctest.Wait() // now all calls wait for the writer
		release()
		wg.Wait()
		if n := store.Commits(s) - before; n != 0 {
			t.Errorf("got %d transactions, want none", n)
		}
	})
}

// fillUp accepts messages until the store is full, then makes space, and checks that all accepted messages are stored.
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
	for range 5 { // the store refuses further messages; this must do no harm
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
		from, err := s.Resume(t.Context(), c.Endpoint)
		if err != nil || from.Cursor != strconv.Itoa(want-1) {
			t.Fatalf("got cursor %q, %v, want that of the last accepted message, %d", from.Cursor, err, want-1)
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
