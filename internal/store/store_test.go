package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
	"telex/internal/store"
)

// The store must delete texts that it no longer needs. Only the history may keep texts for longer.
func TestTextsAreRemoved(t *testing.T) {
	t.Parallel()
	f, s, _ := newFixture(t)
	c := private("1")
	f.accept(c, "1")
	f.begin("t", c, "1")
	f.must(f.Record(t.Context(), "t", chat.Part{
		State: chat.PartStands, Ref: chat.MessageRef{ID: "9"}, Source: "s", Text: "s", Plain: "s", Spans: []chat.Span{{Kind: "bold"}},
	}))
	f.must(f.Decide(t.Context(), "t", decision("s", "s")))
	f.must(f.End(t.Context(), "t", chat.Growth{}))
	check := func(want ...chat.Part) {
		t.Helper()
		parts, err := store.Parts(t.Context(), s.Reader, "t")
		f.must(err)
		if !reflect.DeepEqual(parts, want) {
			t.Errorf("got %+v, want %+v", parts, want)
		}
	}
	check(chat.Part{State: chat.PartStands, Ref: chat.MessageRef{ID: "9"}})
	f.must(f.Record(t.Context(), "t", chat.Part{State: chat.PartGone, Ref: chat.MessageRef{ID: "9"}, Text: "not kept"}))
	check(chat.Part{State: chat.PartGone, Ref: chat.MessageRef{ID: "9"}})
}

func TestErrorsNameTheirSubject(t *testing.T) {
	t.Parallel()
	f, _, _ := newFixture(t)
	ctx, c := t.Context(), private("1")
	f.accept(c, "1")
	f.is(f.Begin(ctx, turnOf("t", c, "9")), store.ErrUnknown)
	f.is(f.Decide(ctx, "t", decision("x")), store.ErrUnknown)
	f.is(f.End(ctx, "t", chat.Growth{}), store.ErrUnknown)
	f.is(f.Release(ctx, "t"), store.ErrUnknown)
	f.is(f.Record(ctx, "t", chat.Part{}), store.ErrUnknown)
	f.is(f.Note(ctx, "t", chat.Step{}), store.ErrUnknown)
	f.begin("t", c, "1")
	f.must(f.Decide(ctx, "t", decision("x")))
	f.is(f.Release(ctx, "t"), store.ErrFenced)
	f.is(f.Begin(ctx, turnOf("t", c)), store.ErrFenced)
	f.is(f.Note(ctx, "t", chat.Step{}), store.ErrFenced)
	f.must(f.End(ctx, "t", chat.Growth{}))
	f.is(f.Decide(ctx, "t", decision("x")), store.ErrFenced)
	f.is(f.Record(ctx, "t", chat.Part{State: chat.PartIntended}), store.ErrFenced)
}

func TestSweep(t *testing.T) {
	t.Parallel()
	f, s, clock := newFixture(t)
	ctx, c := t.Context(), private("1")
	f.accept(c, "1", "2")
	f.begin("t", c, "1")
	f.must(f.Record(ctx, "t", chat.Part{State: chat.PartStands}))
	f.must(f.Decide(ctx, "t", decision("x", "old")))
	f.must(f.End(ctx, "t", chat.Growth{}))
	f.must(store.Append(ctx, s, private("gone"), "old"))
	f.must(f.SaveBlock(ctx, "tg", chat.Block{Scope: chat.ScopeEndpoint, Until: clock.now().Add(time.Hour)}))
	sweep := func(retention time.Duration, want store.Swept) {
		t.Helper()
		swept, err := s.Sweep(ctx, clock.now(), retention)
		f.must(err)
		if swept != want {
			t.Errorf("got %+v, want %+v", swept, want)
		}
	}
	clock.advance(7 * 24 * time.Hour)
	sweep(0, store.Swept{Blocks: 1})
	clock.advance(24 * time.Hour)
	f.must(store.Append(ctx, s, c, "new"))
	sweep(24*time.Hour, store.Swept{Messages: 1, Turns: 1, Entries: 2})
	f.remembers(c, "new")
	f.waits("tg:1/2") // the sweep must keep the waiting message, however old it is
	rep, err := s.Check(ctx)
	f.must(err)
	if rep.Conversations != 1 || rep.Keys != 1 || rep.Pending != 1 || rep.Entries != 1 || rep.Unfinished != 0 || len(rep.Problems) > 0 {
		t.Errorf("got %+v, want one of each but unfinished turns, no problems", rep)
	}
	clock.advance(1000 * 24 * time.Hour)
	sweep(0, store.Swept{}) // with 0 as retention, the sweep keeps the history
}

func TestBackupIsAStore(t *testing.T) {
	t.Parallel()
	f, s, _ := newFixture(t)
	c := private("1")
	f.accept(c, "1")
	file := filepath.Join(t.TempDir(), "telex.db")
	f.must(s.Backup(t.Context(), file))
	f.accept(c, "2")
	f.fails(s.Backup(t.Context(), file)) // Backup overwrites no file
	copied := &fixture{T: t, Store: mustOpen(t, file)}
	copied.waits("tg:1/1")
	copied.close()
	f.fails(s.Backup(t.Context(), filepath.Join(file, "no directory")))
}

// Backup must not overwrite a file. Only the file's owner may be able to read the copy. If the backup fails, Backup
// must delete the incomplete copy.
func TestBackupBesideOthers(t *testing.T) {
	t.Parallel()
	f, s, _ := newFixture(t)
	dir := t.TempDir()
	file, others := filepath.Join(dir, "b.db"), filepath.Join(dir, "b.db.partial")
	write(t, others, []byte("somebody's only copy"))
	f.must(os.Chmod(others, 0o644))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.fails(s.Backup(ctx, file))
	f.must(s.Backup(t.Context(), file))
	if got, err := os.ReadFile(others); err != nil || string(got) != "somebody's only copy" {
		t.Errorf("another file: got %q, %v, want it untouched", got, err)
	}
	st, err := os.Stat(file)
	f.must(err)
	if st.Mode().Perm()&^0o600 != 0 && runtime.GOOS != "windows" {
		t.Errorf("backup: got mode %v, want 0600", st.Mode())
	}
	if names, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(names) != 2 {
		t.Errorf("got %q, %v, want the backup and the other file", names, err)
	}
}

func TestCancelledContext(t *testing.T) {
	t.Parallel()
	f, s, _ := newFixture(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the reason")
	cancel(why)
	c := private("1")
	fresh, err := f.Accept(ctx, c, message(c, "1"))
	f.is(err, why)
	if fresh {
		t.Error("got fresh, want nothing stored")
	}
	_, err = f.Pending(ctx)
	f.is(err, why)
	_, err = s.Check(ctx)
	f.is(err, why)
	f.waits()
}

// Calls that wait for the disk must share one sync. A call that fails or is canceled must not affect the other calls of
// the same sync.
func TestCallsThatWaitShareASync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const crowd = 40
		f, s, _ := newFixture(t)
		c := private("1")
		f.accept(c, "1")
		before := store.Commits(s)
		release := store.Stall(t.Context(), s)
		leaving, leave := context.WithCancel(t.Context())
		errs := make([]error, crowd)
		var wg sync.WaitGroup
		for i := range crowd {
			wg.Go(func() {
				switch {
				case i == 7:
					errs[i] = f.End(t.Context(), "never begun", chat.Growth{})
				case i == 8:
					_, errs[i] = f.Accept(leaving, private("left"), message(private("left"), "1"))
				case i%2 == 0:
					_, _, errs[i] = f.Session(t.Context(), c)
				default:
					other := private(chat.ChatID(fmt.Sprint("crowd", i)))
					_, errs[i] = f.Accept(t.Context(), other, message(other, "1"))
				}
			})
		}
		synctest.Wait() // now all calls wait for the writer
		leave()
		synctest.Wait()
		release()
		wg.Wait()
		for i, err := range errs {
			want := map[int]error{7: store.ErrUnknown, 8: context.Canceled}[i]
			if !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("call %d: got %v, want %v", i, err, want)
			}
		}
		if got, want := len(f.waiting()), 1+(crowd-4)/2+1; got != want {
			t.Errorf("got %d messages, want %d", got, want)
		}
		if n := store.Commits(s) - before; n > crowd/2 {
			t.Errorf("got %d transactions for %d calls, want most of them together", n, crowd)
		}
	})
}

// The store runs several calls in one transaction, and one of them makes this transaction fail. The other calls of the
// transaction must succeed nevertheless.
func TestBrokenCallAffectsNoOther(t *testing.T) {
	t.Parallel()
	f, s, _ := newFixture(t)
	c := private("1")
	f.accept(c, "1")
	f.begin("t", c, "1")
	if _, err := store.Writer(s).ExecContext(t.Context(), "ALTER TABLE part RENAME TO away"); err != nil {
		t.Fatal(err)
	}
	release := store.Stall(t.Context(), s)
	var broken, panicked, fine error
	var wg sync.WaitGroup
	wg.Go(func() { _, fine = f.Accept(t.Context(), c, message(c, "2")) })
	wg.Go(func() { broken = f.Record(t.Context(), "t", chat.Part{}) })
	wg.Go(func() { panicked = store.Panic(t.Context(), s) })
	release()
	wg.Wait()
	if broken == nil || fine != nil || panicked == nil || !strings.Contains(panicked.Error(), "in a transaction") {
		t.Errorf("got %v, %v and %v, want the second and the third to fail", fine, broken, panicked)
	}
	f.must(f.Decide(t.Context(), "t", decision("x")))
	if _, err := store.Writer(s).ExecContext(t.Context(), "ALTER TABLE away RENAME TO part"); err != nil {
		t.Fatal(err)
	}
	f.waits("tg:1/2", "tg:1/1!")
}

// newFixture returns a store with a clock that the test sets. newFixture closes the store at the end of the test.
func newFixture(t *testing.T) (*fixture, *store.Store, *clock) {
	t.Helper()
	c := &clock{}
	path := filepath.Join(t.TempDir(), "telex.db")
	s, err := store.Open(t.Context(), store.Options{Path: path, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{T: t, Store: s}, s, c
}

// clock is a clock that a test sets. A clock with the zero value shows a fixed time.
type clock struct {
	mu      sync.Mutex
	elapsed time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(c.elapsed)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elapsed += d
}
