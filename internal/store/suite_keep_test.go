package store_test

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
)

func testParts(f *fixture) {
	c := private("1")
	f.accept(c, "1")
	f.begin("t", c, "1")
	ref := chat.MessageRef{ID: "77", Target: chat.Target{Chat: "1", Thread: "2", Kind: chat.Group}}
	first := chat.Part{
		Tries: 2, Steps: 3,
		Index: 0, State: chat.PartSealed, Ref: ref, Source: "*a*", Text: "a", Plain: "A", Spans: []chat.Span{
			{Kind: "italic", Offset: 0, Length: 1}, {Kind: "link", Offset: 1, Length: 2, URL: "https://x", Language: "go"},
		}, Key: "t-0", Cursor: true, File: true, Cut: 4096, First: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC),
		Create: &chat.Create{Key: "t-0", After: "76", File: true, Message: chat.Outgoing{
			Text: "a ▌", Spans: []chat.Span{{Kind: "bold", Length: 1}}, Answers: "70", Actions: []chat.Action{{ID: "stop", Label: "Stop"}},
		}},
	}
	intent := chat.Part{Index: 0, State: chat.PartIntended, Text: "a ▌", Cursor: true, Key: "t-0"}
	f.must(f.Record(f.Context(), "t", intent))
	f.reopen()
	if got, want := f.unfinished().Parts, []chat.Part{intent}; !reflect.DeepEqual(got, want) {
		f.Fatalf("got %+v, want %+v", got, want)
	}
	f.must(f.Note(f.Context(), "t", step(chat.StepSaid, "", "x"), step(chat.StepUsage, "", "y")))
	second := chat.Part{Index: 1, State: chat.PartAbsent, Text: "b", Key: "t-1", Steps: 2}
	frozen := chat.Part{Index: -1, State: chat.PartFrozen, Ref: chat.MessageRef{ID: "3"}, Key: "t-0", Steps: 2}
	f.must(f.Record(f.Context(), "t", second, frozen))
	for field, value := range reflect.ValueOf(first).Fields() {
		if value.IsZero() && field.Name != "Index" {
			f.Fatalf("chat.Part.%s is not set, so it is not tested", field.Name)
		}
	}
	f.must(f.Note(f.Context(), "t", step(chat.StepAnswered, "c", "z")))
	f.must(f.Record(f.Context(), "t", first))
	f.reopen()
	if got, want := f.unfinished().Parts, []chat.Part{frozen, first, second}; !reflect.DeepEqual(got, want) {
		f.Fatalf("got %+v, want %+v", got, want)
	}
	f.must(f.Note(f.Context(), "t", step(chat.StepAnswered, "d", "z")))
	first.Cursor = false // the part's text has not changed, so its number of steps must not change
	f.must(f.Record(f.Context(), "t", first))
	f.reopen()
	if got, want := f.unfinished().Parts, []chat.Part{frozen, first, second}; !reflect.DeepEqual(got, want) {
		f.Fatalf("got %+v, want %+v", got, want)
	}
	f.must(f.End(f.Context(), "t", chat.Growth{}))
	if err := f.Record(f.Context(), "t", second, chat.Part{Index: 2, State: chat.PartIntended}); !errors.Is(err, chat.ErrFenced) {
		f.Errorf("after the end, a create among other parts is stored with the error %v, want %v", err, chat.ErrFenced)
	}
}

// A person edits a message, once while it waits and once while a turn answers it. The steps of the answering turn and
// the source of its parts are based on the old text, so Revise must delete them.
func testRevise(f *fixture) {
	c := private("1")
	f.accept(c, "1")
	edited := message(c, "1")
	edited.Text = "better"
	f.must(f.Revise(f.Context(), c, edited))
	f.begin("t", c, "1")
	f.must(f.Note(f.Context(), "t", step(chat.StepSaid, "", "x"), step(chat.StepUsage, "", "y"), step(chat.StepReads, "c", "")))
	f.must(f.Record(f.Context(), "t", chat.Part{State: chat.PartStands, Source: "*a*", Text: "a", Key: "t-0"}))
	f.reopen()
	if got := f.unfinished(); got.Messages[0].Text != "better" || len(got.Steps) != 3 {
		f.Fatalf("got %+v", got)
	}
	edited.Text = "best"
	f.must(f.Revise(f.Context(), c, edited))
	f.reopen()
	got := f.unfinished()
	if want := []chat.Step{step(chat.StepUsage, "", "y")}; got.Messages[0].Text != "best" || !reflect.DeepEqual(got.Steps, want) {
		f.Fatalf("got %+v, want the steps %+v", got, want)
	}
	if want := []chat.Part{{State: chat.PartStands, Text: "a", Key: "t-0"}}; !reflect.DeepEqual(got.Parts, want) {
		f.Fatalf("got %+v, want %+v", got.Parts, want)
	}
	f.must(f.End(f.Context(), "t", chat.Growth{}))
	if err := f.Revise(f.Context(), c, edited); !errors.Is(err, chat.ErrUnknown) {
		f.Fatalf("got %v, want %v", err, chat.ErrUnknown)
	}
}

func testHistory(f *fixture) {
	c, other := private("1"), private("2")
	f.remember(c, `{"a":1}`, "")
	f.remember(other, "other")
	f.remember(c, "3")
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
	ctx, now := f.Context(), time.Now()
	save := func(e chat.EndpointID, sc chat.Scope, c chat.ChatID, m chat.MessageID, lasts time.Duration) {
		f.Helper()
		f.must(f.SaveBlock(ctx, e, chat.Block{Scope: sc, Chat: c, Message: m, Until: now.Add(lasts)}))
	}
	save("tg", chat.ScopeChat, "1", "", time.Second)
	save("tg", chat.ScopeChat, "1", "", time.Minute)
	save("tg", chat.ScopeChat, "1", "", time.Second) // must not shorten the block, which ends later
	save("tg", chat.ScopeMessage, "1", "7", time.Second)
	save("tg", chat.ScopeEndpoint, "", "", time.Hour)
	f.must(f.SaveBlock(ctx, "tg", chat.Block{Scope: chat.ScopeEndpoint, Ops: chat.OpTyping, Until: now.Add(time.Minute)}))
	save("other", chat.ScopeEndpoint, "", "", time.Hour)
	f.reopen()
	time.Sleep(time.Second)
	got, err := f.Blocks(ctx, "tg")
	f.must(err)
	for i := range got {
		got[i].Until = got[i].Until.UTC()
	}
	slices.SortFunc(got, func(a, b chat.Block) int { return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Ops, b.Ops)) })
	want := []chat.Block{
		{Scope: chat.ScopeChat, Chat: "1", Until: now.Add(time.Minute).UTC()},
		{Scope: chat.ScopeEndpoint, Until: now.Add(time.Hour).UTC()},
		{Scope: chat.ScopeEndpoint, Ops: chat.OpTyping, Until: now.Add(time.Minute).UTC()},
	}
	if !slices.EqualFunc(got, want, func(a, b chat.Block) bool {
		same := a.Until.Equal(b.Until)
		a.Until = b.Until
		return same && a == b
	}) {
		f.Errorf("got %+v, want %+v", got, want)
	}
}

// If a caller changes the arguments or the results of a call after the call has returned, this must not change the
// stored data.
func testCopies(f *fixture) {
	ctx, c := f.Context(), private("1")
	f.accept(c, "1")
	f.begin("t", c, "1")
	part := chat.Part{State: chat.PartStands, Text: "ab", Spans: []chat.Span{{Kind: "bold", Length: 1}}}
	f.must(f.Record(ctx, "t", part))
	part.Spans[0].Kind = "changed"
	entry := []byte("said")
	f.must(f.Decide(ctx, "t", chat.Decision{Ending: []byte("x"), Growth: chat.Growth{History: [][]byte{entry}}}))
	entry[0] = 'X'
	if got := f.unfinished().Parts; got[0].Spans[0].Kind != "bold" {
		f.Errorf("got %+v, want the part as it was given", got)
	}
	f.remembers(c, "said")
	_, got, err := f.Session(ctx, c)
	f.must(err)
	got[0].Body[0] = 'X'
	f.remembers(c, "said")
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
					f.Record(f.Context(), turn, chat.Part{State: chat.PartIntended}),
					f.Record(f.Context(), turn, chat.Part{State: chat.PartStands}),
					f.Decide(f.Context(), turn, decision("x", fmt.Sprint(i))),
					f.End(f.Context(), turn, chat.Growth{}))
				_, history, readErr := f.Session(f.Context(), c)
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
