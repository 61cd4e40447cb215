package store_test

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"telex/internal/chat"
	"telex/internal/store"
)

func testAccount(t *testing.T, new newKept) {
	t.Helper()
	f, s, clock := new(t)
	ctx := t.Context()
	used := func(id string, c chat.Conversation, u chat.UserID, usage ...chat.Usage) {
		t.Helper()
		f.ask(id, c, u, chat.Growth{Usage: usage})
	}
	of := func(model string, prompt int) chat.Usage {
		return chat.Usage{Model: model, Prompt: prompt, Cached: 1, Completion: 2, Reasoning: 1, Calls: 1}
	}
	slack := chat.Conversation{Endpoint: "slack", Chat: "C1", Thread: "t"}
	used("1", private("1"), "u", of("small", 10), of("large", 20)) // at 03:04:05
	used("2", private("1"), "u", of("small", 1))
	used("3", private("9"), "e", of("small", 100))
	clock.advance(20*time.Hour + 30*time.Minute) // the clock now shows 23:34:05
	evening := clock.now()
	guess := of("small", 1000)
	guess.Estimated = true
	used("4", slack, "u", guess)
	clock.advance(time.Hour)
	used("5", private("1"), "e", of("small", 5))

	tests := []struct {
		name  string
		o     store.AccountOptions
		want  []store.AccountRow
		total chat.Used
	}{
		{"as one", store.AccountOptions{}, []store.AccountRow{{Used: sumUsed(5, 6, 1136, true)}}, sumUsed(5, 6, 1136, true)},
		{"by model", store.AccountOptions{By: []store.UsageBy{store.ByModel}}, []store.AccountRow{
			{Model: "large", Used: sumUsed(1, 1, 20, false)}, {Model: "small", Used: sumUsed(5, 5, 1116, true)},
		}, sumUsed(5, 6, 1136, true)},
		{"by person, then day", store.AccountOptions{By: []store.UsageBy{store.ByPerson, store.ByDay}}, []store.AccountRow{
			{Day: "2026-01-02", Person: chat.Person{Endpoint: "slack", User: "u"}, Used: sumUsed(1, 1, 1000, true)},
			{Day: "2026-01-02", Person: eve(), Used: sumUsed(1, 1, 100, false)},
			{Day: "2026-01-03", Person: eve(), Used: sumUsed(1, 1, 5, false)},
			{Day: "2026-01-02", Person: ada(), Used: sumUsed(2, 3, 31, false)},
		}, sumUsed(5, 6, 1136, true)},
		{"by day elsewhere", store.AccountOptions{By: []store.UsageBy{store.ByDay}, Zone: time.FixedZone("", 3600)}, []store.AccountRow{
			{Day: "2026-01-02", Used: sumUsed(3, 4, 131, false)}, {Day: "2026-01-03", Used: sumUsed(2, 2, 1005, true)},
		}, sumUsed(5, 6, 1136, true)},
		{
			"by conversation, of a time",
			store.AccountOptions{From: evening, To: evening.Add(time.Hour), By: []store.UsageBy{store.ByConversation}},
			[]store.AccountRow{{Conversation: slack, Used: sumUsed(1, 1, 1000, true)}},
			sumUsed(1, 1, 1000, true),
		},
		{"nothing", store.AccountOptions{From: evening.Add(48 * time.Hour), By: []store.UsageBy{store.ByDay}}, nil, chat.Used{}},
	}
	for _, tt := range tests {
		got, err := s.Account(ctx, tt.o)
		f.must(err)
		if !reflect.DeepEqual(got.Rows, tt.want) || got.Total != tt.total {
			t.Errorf("%s: got %+v,\nwant %+v, total %+v", tt.name, got, tt.want, tt.total)
		}
	}

	_, err := s.DeletePerson(ctx, ada())
	f.must(err)
	got, err := s.Account(ctx, store.AccountOptions{By: []store.UsageBy{store.ByPerson}})
	f.must(err)
	if first := (store.AccountRow{Person: chat.Person{Endpoint: "tg"}, Used: sumUsed(2, 3, 31, false)}); len(got.Rows) != 3 || got.Rows[1] != first {
		t.Errorf("got %+v, want what she used without her id", got)
	}
}

// sumUsed returns the expected usage of model calls. Each of these calls used 2 completion tokens.
func sumUsed(turns, calls, prompt int, estimated bool) chat.Used {
	return chat.Used{
		Usage: chat.Usage{Prompt: prompt, Cached: calls, Completion: 2 * calls, Reasoning: calls, Calls: calls, Estimated: estimated},
		Turns: turns,
	}
}

// For every grouping of usage, the rows must add up to the total, and no group may occur twice.
func TestAccountAddsUp(t *testing.T) {
	t.Parallel()
	f, s, clock := newFixture(t)
	dimensions := []store.UsageBy{store.ByDay, store.ByPerson, store.ByConversation, store.ByModel}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(0, 3).Draw(rt, "turns") {
			n++
			clock.advance(time.Duration(rapid.IntRange(0, 30).Draw(rt, "hours")) * time.Hour)
			var usage []chat.Usage
			for range rapid.IntRange(0, 3).Draw(rt, "models") {
				usage = append(usage, chat.Usage{Model: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "model"), Prompt: n, Calls: 1})
			}
			c := private(chat.ChatID(rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "chat")))
			id := time.Duration(n).String()
			f.accept(c, chat.MessageID(id))
			turn := turnOf(id, c, chat.MessageID(id))
			turn.User = chat.UserID(rapid.SampledFrom([]string{"u", "e"}).Draw(rt, "user"))
			f.must(f.Begin(t.Context(), turn))
			f.must(f.Decide(t.Context(), id, chat.Decision{Growth: chat.Growth{Usage: usage}}))
			f.must(f.End(t.Context(), id, chat.Growth{Usage: usage})) // Decide already stored this usage, so End must not count it again
		}
		by := rapid.SliceOfDistinct(rapid.SampledFrom(dimensions), func(b store.UsageBy) store.UsageBy { return b }).Draw(rt, "by")
		a, err := s.Account(t.Context(), store.AccountOptions{By: by})
		f.must(err)
		whole, err := f.Used(t.Context(), chat.UsageOf{})
		f.must(err)
		whole.Last = "" // don't compare Last, because Account does not set this field
		if a.Total != whole {
			rt.Fatalf("got %+v, want %+v", a.Total, whole)
		}
		sum, seen := chat.Used{}, map[store.AccountRow]bool{}
		for _, r := range a.Rows {
			sum.Prompt += r.Prompt
			sum.Calls += r.Calls
			if r.Turns == 0 || r.Turns > whole.Turns {
				rt.Fatalf("%+v of %d turns", r, whole.Turns)
			}
			r.Used = chat.Used{}
			if seen[r] {
				rt.Fatalf("%+v is there twice", r)
			}
			seen[r] = true
		}
		if sum.Prompt != whole.Prompt || sum.Calls != whole.Calls {
			rt.Fatalf("the rows sum up to %+v, want %+v", sum, whole)
		}
	})
}

func TestOlderStoreHasNoAccount(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	old(t, path, 4) // Account must fail, because a store with schema 4 has no table for usage
	r, err := store.OpenReadOnly(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, r)
	_, err = r.Account(t.Context(), store.AccountOptions{})
	(&fixture{T: t}).is(err, store.ErrOlder)
}
