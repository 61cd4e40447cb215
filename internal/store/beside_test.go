package store_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store"
)

const (
	// worstAccept is the longest time that a call of Accept may take, not counting the time during which the disk syncs.
	// worstAccept is short because Slack and Discord want a response within 3 s.
	worstAccept = 250 * time.Millisecond
	// worstRacedAccept is used instead of worstAccept with the race detector, which makes SQLite many times slower.
	worstRacedAccept = 2 * time.Second
	// maxSyncs is the maximum number of syncs for which a call of Accept may wait: two syncs of the previous transaction,
	// two of a checkpoint, and two of Accept's own transaction. The first transaction after the log was emptied also syncs
	// the log's header.
	maxSyncs = 6
)

// leastTurns is the minimum number of turns in each conversation.
const leastTurns = 4

// talk stores one turn after the other until ctx ends, as the gateway would. After each call of Accept, talk calls the
// function told with the time span of this call.
func talk(ctx context.Context, s *store.Store, n int, told func(span)) error {
	c := private(chat.ChatID(strconv.Itoa(n)))
	text := strings.Repeat("what the model says ", 100)
	for i := 0; ctx.Err() == nil || i < leastTurns; i++ {
		id := chat.MessageID(strconv.Itoa(i))
		turn := fmt.Sprintf("%d-%d", n, i)
		began := time.Now()
		if _, err := s.Accept(context.WithoutCancel(ctx), c, message(c, id)); err != nil {
			return err
		}
		told(span{began, time.Now()})
		for _, do := range []func(context.Context) error{
			func(ctx context.Context) error { return s.Begin(ctx, turnOf(turn, c, id)) },
			func(ctx context.Context) error { _, _, err := s.Session(ctx, c); return err },
			func(ctx context.Context) error {
				return s.Record(ctx, turn, chat.Part{State: chat.PartStands, Key: turn, Text: text, Source: text})
			},
			func(ctx context.Context) error { return s.Decide(ctx, turn, decision(text, text, text)) },
			func(ctx context.Context) error { return s.End(ctx, turn, chat.Growth{}) },
			func(ctx context.Context) error {
				if i%3 == 2 { // erase the data of every third turn
					return s.Forget(ctx, c)
				}
				return nil
			},
		} {
			if err := do(context.WithoutCancel(ctx)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Fifty conversations continue while a hundred backups are made one after the other. No call of Accept may wait for a
// backup or for an erasure: neither on a fast disk, nor on a disk on which every sync takes 200 ms.
func TestAcceptBesideBackups(t *testing.T) { //nolint:paralleltest // it measures time
	for _, sync := range []time.Duration{0, 200 * time.Millisecond} {
		t.Run("sync="+sync.String(), func(t *testing.T) { measureAccepts(t, sync) })
	}
}

// others measures how much other programs slow this machine down. For this, others sleeps and syncs a small file again
// and again. The function stop returns the longest delay. The test allows Accept this delay as extra time, so that the
// test does not blame the store for the machine's load.
func others(t *testing.T) (stop func() time.Duration) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "other"))
	if err != nil {
		t.Fatal(err)
	}
	quit, worst := make(chan struct{}), make(chan time.Duration)
	go func() {
		defer file.Close() //nolint:errcheck // an error of Close has no consequence: the file's content does not matter
		const rest = 20 * time.Millisecond
		most := time.Duration(0)
		for next := time.Now().Add(rest); ; next = time.Now().Add(rest) {
			select {
			case <-time.After(rest):
			case <-quit:
				worst <- most
				return
			}
			if _, err := file.WriteAt([]byte("x"), 0); err != nil || file.Sync() != nil {
				t.Error("the other file can't be written")
			}
			most = max(most, time.Since(next))
		}
	}()
	return func() time.Duration { close(quit); return <-worst }
}

func measureAccepts(t *testing.T, takes time.Duration) {
	conversations, backups := 50, 100
	worst := worstAccept
	if raced { // with the race detector, Accept may take longer
		conversations, backups, worst = 5, 3, worstRacedAccept
	}
	dir, copies := t.TempDir(), t.TempDir()
	busy := others(t)
	disk := slowDirOf(t, dir, takes)
	s := mustOpen(t, store.File(dir))
	defer mustClose(t, s)
	source, err := store.OpenReadOnly(t.Context(), store.Options{Path: store.File(dir)}) // as `telex store backup` does
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, source)
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var accepts []span
	var running sync.WaitGroup
	for n := range conversations {
		running.Go(func() {
			err := talk(ctx, s, n, func(a span) {
				mu.Lock()
				defer mu.Unlock()
				accepts = append(accepts, a)
			})
			if err != nil {
				t.Errorf("conversation %d: %v", n, err)
			}
		})
	}
	for i := range backups {
		file := filepath.Join(copies, strconv.Itoa(i))
		if err := source.Backup(t.Context(), file); err != nil {
			t.Error(err)
			break
		}
		if err := os.Remove(file); err != nil {
			t.Error(err)
		}
	}
	cancel()
	running.Wait()
	var beside, altogether []time.Duration
	for _, a := range accepts {
		beside = append(beside, disk.beside(a))
		altogether = append(altogether, a.to.Sub(a.from))
	}
	delay := busy()
	worst += delay
	slices.Sort(beside)
	slices.Sort(altogether)
	last := len(accepts) - 1
	t.Logf("%d accepts beside %d backups: beside the syncs median %v, p99 %v, worst %v; with them median %v, worst %v; the machine itself was late by %v",
		len(accepts), backups, beside[last/2], beside[last*99/100], beside[last], altogether[last/2], altogether[last], delay)
	if beside[last] > worst {
		t.Errorf("an accept took %v beside the syncs, want %v at most", beside[last], worst)
	}
	if most := maxSyncs*takes + worst; takes > 0 && altogether[last] > most {
		t.Errorf("an accept took %v, want %v at most", altogether[last], most)
	}
}

// While a reader, such as a backup, uses an older state of the store, erased data can't be overwritten in the files.
// The test checks that no call waits for this reader and that a long delay is logged. When the reader has ended, the
// erased data must be overwritten at once.
func TestErasedDataBesideAReader(t *testing.T) {
	t.Parallel()
	const secret = "blue-stone-under-the-key"
	dir := t.TempDir()
	log := &lines{}
	s, err := store.Open(t.Context(), store.Options{Path: store.File(dir), Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, Store: s}
	defer f.close()
	c := private("1")
	f.ask("1", c, "u", growth(secret+strings.Repeat(" and more", 2000), secret))
	reader, err := store.Readers(s).BeginTx(t.Context(), nil)
	f.must(err)
	var n int
	f.must(reader.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM entry").Scan(&n))
	began := time.Now()
	f.must(f.Forget(t.Context(), c))
	f.accept(c, "2")
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("to forget and to accept took %v, want no waiting for a reader", took)
	}
	if holding(t, s, secret) == 0 {
		t.Error("nothing holds the secret: this test shows nothing")
	}
	log.await(t, "deleted data can still be read in the store's log")
	f.must(reader.Rollback())
	log.await(t, "deleted data was removed from the store's log")
	if n := holding(t, s, secret); n > 0 {
		t.Errorf("%d files still hold it", n)
	}
}

// If the process ends while a reader still uses an older state, erased data stays in the write-ahead log. The next
// process must overwrite the erased data before it does anything else.
func TestErasedDataIsOverwrittenAtTheNextStart(t *testing.T) {
	t.Parallel()
	const secret = "blue-stone-under-the-key"
	dir := t.TempDir()
	f := &fixture{T: t, Store: mustOpen(t, store.File(dir)), open: sqliteOpener(dir)}
	c := private("1")
	f.ask("1", c, "u", growth(secret+strings.Repeat(" and more", 2000), secret))
	other, err := store.OpenReadOnly(t.Context(), store.Options{Path: store.File(dir)})
	f.must(err)
	reader, err := store.ReadersOf(other).BeginTx(t.Context(), nil)
	f.must(err)
	var n int
	f.must(reader.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM entry").Scan(&n))
	f.must(f.Forget(t.Context(), c))
	f.close()
	if data, err := os.ReadFile(store.File(dir) + "-wal"); err != nil || !bytes.Contains(data, []byte(secret)) {
		t.Fatalf("the log does not hold the secret (%v): this test shows nothing", err)
	}
	f.must(reader.Rollback())
	f.must(other.Close())
	s := mustOpen(t, store.File(dir))
	f.Store = s
	defer f.close()
	store.AwaitErased(t.Context(), s)
	if n := holding(t, s, secret); n > 0 {
		t.Errorf("%d files still hold it", n)
	}
}

// Reads must not wait for writes.
func TestReadsDoNotWaitForTheWriter(t *testing.T) {
	t.Parallel()
	f, s, _ := newFixture(t)
	c := private("1")
	f.accept(c, "1")
	release := store.Stall(t.Context(), s)
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if list, err := f.Pending(ctx); err != nil || len(list) != 1 {
		t.Errorf("got %v, %v, want one message", list, err)
	}
}

// lines collects log lines. With await, a test waits until a logged line contains a certain text.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) await(t *testing.T, part string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; runtime.Gosched() {
		l.mu.Lock()
		found := strings.Contains(l.text.String(), part)
		l.mu.Unlock()
		if found {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the log lacks %q", part)
}
