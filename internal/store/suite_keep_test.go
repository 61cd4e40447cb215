package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"telex/internal/chat"
	"telex/internal/store"
)

func testParts(f *fixture) {
	c := private("1")
	f.accept(c, "1")
	f.begin("t", c, "1")
	ref := chat.MessageRef{ID: "77", Target: chat.Target{Chat: "1", Thread: "2", Kind: chat.Group}}
	first := store.Part{Index: 0, State: store.Sealed, Ref: ref, Source: "*a*", Text: "a", Spans: []chat.Span{
		{Kind: "italic", Offset: 0, Length: 1}, {Kind: "link", Offset: 1, Length: 2, URL: "https://x", Language: "go"},
	}, Key: "t-0"}
	f.must(f.Intend(f.Context(), "t", store.Part{Index: 0, State: store.Gone, Text: "a ▌", Cursor: true, Key: "t-0"}))
	f.reopen()
	want := []store.Part{{Index: 0, State: store.Intended, Text: "a ▌", Cursor: true, Key: "t-0"}}
	if got := f.unfinished().Parts; !reflect.DeepEqual(got, want) {
		f.Fatalf("got %+v, want %+v", got, want)
	}
	second := store.Part{Index: 1, State: store.Doubtful, Text: "b", Key: "t-1"}
	f.must(f.Record(f.Context(), "t", second))
	f.must(f.Record(f.Context(), "t", first))
	f.reopen()
	want = []store.Part{first, second}
	if got := f.unfinished().Parts; !reflect.DeepEqual(got, want) {
		f.Fatalf("got %+v, want %+v", got, want)
	}
	got, err := f.Parts(f.Context(), "t")
	f.must(err)
	if !reflect.DeepEqual(got, want) {
		f.Fatalf("got %+v, want %+v", got, want)
	}
	if got, err := f.Parts(f.Context(), "none"); err != nil || len(got) > 0 {
		f.Errorf("got %+v, %v, want no parts", got, err)
	}
}

// What was said does not stay longer than it is needed; the history is the one place for it.
func testPrivacy(f *fixture) {
	c := private("1")
	f.accept(c, "1")
	f.begin("t", c, "1")
	f.must(f.Record(f.Context(), "t", store.Part{State: store.Stands, Ref: chat.MessageRef{ID: "9"}, Source: "s", Text: "s"}))
	f.must(f.Decide(f.Context(), "t", decision("s", "s")))
	f.must(f.End(f.Context(), "t", store.Done))
	parts, err := f.Parts(f.Context(), "t")
	f.must(err)
	want := []store.Part{{State: store.Stands, Ref: chat.MessageRef{ID: "9"}}}
	if !reflect.DeepEqual(parts, want) {
		f.Errorf("got %+v, want %+v", parts, want)
	}
}

func testHistory(f *fixture) {
	c, other := private("1"), private("2")
	f.must(f.Append(f.Context(), c, []byte(`{"a":1}`), []byte("")))
	f.must(f.Append(f.Context(), other, []byte("other")))
	f.must(f.Append(f.Context(), c))
	f.must(f.Append(f.Context(), c, []byte("3")))
	f.reopen()
	f.remembers(c, `{"a":1}`, "", "3")
	f.must(f.Forget(f.Context(), c))
	f.must(f.Forget(f.Context(), private("3")))
	f.reopen()
	f.remembers(c)
	f.remembers(other, "other")
	f.remembers(private("4"))
}

func testBlocks(f *fixture) {
	ctx, now := f.Context(), f.clock.now()
	f.must(f.SaveBlock(ctx, "tg", chat.ScopeChat, "1", "", now.Add(time.Minute)))
	f.must(f.SaveBlock(ctx, "tg", chat.ScopeChat, "1", "", now.Add(time.Second))) // never shortened
	f.must(f.SaveBlock(ctx, "tg", chat.ScopeMessage, "1", "7", now.Add(time.Second)))
	f.must(f.SaveBlock(ctx, "tg", chat.ScopeEndpoint, "", "", now.Add(time.Hour)))
	f.must(f.SaveBlock(ctx, "other", chat.ScopeEndpoint, "", "", now.Add(time.Hour)))
	f.reopen()
	f.clock.advance(time.Second)
	got, err := f.Blocks(ctx, "tg")
	f.must(err)
	want := []store.Block{
		{Scope: chat.ScopeChat, Chat: "1", Until: now.Add(time.Minute)},
		{Scope: chat.ScopeEndpoint, Until: now.Add(time.Hour)},
	}
	if !reflect.DeepEqual(got, want) {
		f.Errorf("got %+v, want %+v", got, want)
	}
	swept, err := f.Sweep(ctx, f.clock.now(), 0)
	f.must(err)
	if swept.Blocks != 1 {
		f.Errorf("got %d blocks swept, want 1", swept.Blocks)
	}
}

func testSweep(f *fixture) {
	ctx, c := f.Context(), private("1")
	f.accept(c, "1", "2")
	f.begin("t", c, "1")
	f.must(f.Record(ctx, "t", store.Part{State: store.Stands}))
	f.must(f.Decide(ctx, "t", decision("x", "old")))
	f.must(f.End(ctx, "t", store.Done))
	f.must(f.Append(ctx, private("gone"), []byte("old")))
	f.clock.advance(8 * 24 * time.Hour)
	f.must(f.Append(ctx, c, []byte("new")))
	swept, err := f.Sweep(ctx, f.clock.now(), 24*time.Hour)
	f.must(err)
	if want := (store.Swept{Messages: 1, Turns: 1, Entries: 2}); swept != want {
		f.Errorf("got %+v, want %+v", swept, want)
	}
	f.remembers(c, "new")
	f.waits("tg:1/2") // unfinished stays, however old
	rep, err := f.Check(ctx)
	f.must(err)
	if rep.Conversations != 1 || rep.Keys != 1 || rep.Pending != 1 || rep.Entries != 1 || rep.Unfinished != 0 || len(rep.Problems) > 0 {
		f.Errorf("got %+v, want one of each but unfinished turns, no problems", rep)
	}
	f.clock.advance(1000 * 24 * time.Hour)
	swept, err = f.Sweep(ctx, f.clock.now(), 0)
	f.must(err)
	if want := (store.Swept{}); swept != want {
		f.Errorf("retention 0: got %+v, want %+v", swept, want)
	}
}

func testBackup(f *fixture) {
	c := private("1")
	f.accept(c, "1")
	file := filepath.Join(f.TempDir(), "telex.db")
	f.must(f.Backup(f.Context(), file))
	f.accept(c, "2")
	if err := f.Backup(f.Context(), file); err == nil {
		f.Error("a backup was overwritten")
	}
	b, err := sqliteOpener(filepath.Dir(file), f.clock)(f.Context())
	f.must(err)
	copied := &fixture{T: f.T, backend: b}
	copied.waits("tg:1/1")
	f.must(b.Close())
	if err := f.Backup(f.Context(), filepath.Join(file, "no directory")); err == nil {
		f.Error("a backup into nowhere succeeded")
	}
}

func testConcurrent(f *fixture) {
	const workers, each = 8, 20
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			c := private(chat.ChatID(fmt.Sprint(w)))
			for i := range each {
				id := chat.MessageID(fmt.Sprint(i))
				turn := fmt.Sprint(w, "-", i)
				fresh, err := f.Accept(f.Context(), c, message(c, id))
				err = errors.Join(err,
					f.Begin(f.Context(), turnOf(turn, c, id)),
					f.Intend(f.Context(), turn, store.Part{}),
					f.Record(f.Context(), turn, store.Part{State: store.Stands}),
					f.Decide(f.Context(), turn, decision("x", fmt.Sprint(i))),
					f.End(f.Context(), turn, store.Done))
				history, readErr := f.History(f.Context(), c)
				if err = errors.Join(err, readErr); err != nil || !fresh || len(history) != i+1 {
					f.Errorf("worker %d, message %d: fresh %v, %d entries, error %v", w, i, fresh, len(history), err)
					return
				}
			}
		})
	}
	wg.Wait()
	f.waits()
}

func testCancelled(f *fixture) {
	ctx, cancel := context.WithCancelCause(f.Context())
	why := errors.New("the reason")
	cancel(why)
	c := private("1")
	fresh, err := f.Accept(ctx, c, message(c, "1"))
	f.is(err, why)
	if fresh {
		f.Error("got fresh, want nothing stored")
	}
	_, err = f.Pending(ctx)
	f.is(err, why)
	f.waits()
}
