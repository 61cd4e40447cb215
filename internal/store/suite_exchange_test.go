package store_test

import (
	"context"
	"time"

	"telex/internal/chat"
)

// exchanges contains the methods of a store for the turns of the API server.
type exchanges interface {
	SaveExchange(ctx context.Context, x chat.Exchange) error
	Responses(ctx context.Context, p chat.Person, id string) ([]chat.Response, error)
	DeleteResponse(ctx context.Context, p chat.Person, id string) (bool, error)
}

// exchanges returns the fixture's store with its methods for the API server.
func (f *fixture) exchanges() exchanges {
	x, ok := f.Store.(exchanges)
	if !ok {
		f.Fatalf("%T can't store exchanges", f.Store)
	}
	return x
}

func testExchanges(f *fixture) {
	c, p := private("1"), chat.Person{Endpoint: private("1").Endpoint, User: "laptop"}
	save := func(id string, after int64, texts ...string) {
		f.Helper()
		x := chat.Exchange{Turn: id, Conversation: c, User: p.User, After: after}
		for _, text := range texts {
			x.Growth.History = append(x.Growth.History, []byte(text))
		}
		x.Growth.Usage = []chat.Usage{{Model: "m", Prompt: 2, Completion: 1, Calls: 1}}
		f.must(f.exchanges().SaveExchange(f.Context(), x))
	}
	save("a", 0, "one", "two")
	f.reopen()
	f.keeps(c, "", "a laptop: one", "a laptop: two")
	_, entries, err := f.Session(f.Context(), c)
	f.must(err)
	newest := entries[1].ID
	save("b", newest, "three")
	f.keeps(c, "", "a laptop: one", "a laptop: two", "b laptop: three")
	// The history is erased while a turn runs. The store must not store this turn's entries, but must count its usage.
	f.must(f.Forget(f.Context(), c))
	save("c", newest, "four")
	f.keeps(c, "")
	used, err := f.Used(f.Context(), chat.UsageOf{Person: p})
	f.must(err)
	if used.Prompt != 6 || used.Turns != 3 {
		f.Fatalf("got %+v, want the usage of 3 turns", used)
	}
}

func testResponses(f *fixture) {
	c, p := private("1"), chat.Person{Endpoint: private("1").Endpoint, User: "laptop"}
	for i, id := range []string{"r1", "r2", "r3"} {
		r := chat.Response{ID: id, Body: []byte(`{"id":"` + id + `"}`), Messages: []byte(`[` + id + `]`)}
		if i > 0 {
			r.Previous = []string{"r1", "r2"}[i-1]
		}
		f.must(f.exchanges().SaveExchange(f.Context(), chat.Exchange{Turn: id, Conversation: c, User: p.User, Response: &r}))
	}
	f.reopen()
	chain := func(p chat.Person, id string) (out string) {
		f.Helper()
		list, err := f.exchanges().Responses(f.Context(), p, id)
		f.must(err)
		for _, r := range list {
			if r.At.IsZero() || time.Since(r.At) > time.Hour {
				f.Fatalf("stored at %v", r.At)
			}
			out += r.ID + string(r.Body) + string(r.Messages) + " "
		}
		return out
	}
	if got, want := chain(p, "r3"), `r1{"id":"r1"}[r1] r2{"id":"r2"}[r2] r3{"id":"r3"}[r3] `; got != want {
		f.Fatalf("got %s, want %s", got, want)
	}
	if got := chain(chat.Person{Endpoint: p.Endpoint, User: "other"}, "r3"); got != "" {
		f.Fatalf("another key reads %s", got)
	}
	for _, want := range []bool{true, false} {
		if done, err := f.exchanges().DeleteResponse(f.Context(), p, "r2"); err != nil || done != want {
			f.Fatalf("delete: got %v, %v, want %v", done, err, want)
		}
	}
	if got, want := chain(p, "r3"), `r3{"id":"r3"}[r3] `; got != want {
		f.Fatalf("got %s, want %s", got, want)
	}
}
