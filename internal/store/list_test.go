package store_test

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store"
)

func testSessionsAndTranscript(t *testing.T, new newKept) {
	t.Helper()
	f, s, clock := new(t)
	ctx, c, other := t.Context(), private("1"), private("2")
	f.accept(private("only a message"), "1")
	f.must(f.Choose(ctx, other, "m"))
	f.ask("1", c, "u", chat.Growth{History: growth("a", "b").History, Usage: []chat.Usage{{Prompt: 5, Cached: 4, Completion: 2, Reasoning: 1}}})
	f.ask("2", c, "u", chat.Growth{Compaction: f.upto(c, "a", 1)})
	newest := clock.now()
	clock.advance(time.Hour)
	f.ask("3", private("3"), "u", growth("x"))
	list, err := s.Sessions(ctx)
	f.must(err)
	want := []store.SessionInfo{
		{Conversation: private("3"), Entries: 1, Newest: clock.now()},
		{Conversation: c, Entries: 2, Newest: newest, Summary: true, Tokens: 7},
		{Conversation: other, Model: "m"},
	}
	if !reflect.DeepEqual(list, want) {
		t.Errorf("got %+v, want %+v", list, want)
	}
	session, entries, err := s.Transcript(ctx, c)
	f.must(err)
	if session.Summary != "a" || len(entries) != 2 || string(entries[0].Body) != "a" || entries[0].ID != session.SummaryUpto {
		t.Errorf("got %+v and %+v, want what is folded too", session, entries)
	}
}

// Listing the sessions of a store with an older schema must fail with ErrOlder, not with an error of SQLite.
func TestOlderStoreIsNotListed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	old(t, path, store.Latest()-1)
	r, err := store.OpenReadOnly(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, r)
	f := &fixture{T: t}
	_, err = r.Sessions(t.Context())
	f.is(err, store.ErrOlder)
	_, _, err = r.Transcript(t.Context(), private("1"))
	f.is(err, store.ErrOlder)
}

func testDeletePerson(t *testing.T, new newKept) {
	t.Helper()
	f, s, clock := new(t)
	ctx := t.Context()
	waiting := func(c chat.Conversation, id chat.MessageID, u chat.UserID) {
		t.Helper()
		in := message(c, id)
		in.Sender.ID = u
		_, err := f.Accept(ctx, c, in)
		f.must(err)
	}
	slack := chat.Conversation{Endpoint: "slack", Chat: "1"}
	for _, c := range []chat.Conversation{private("1"), private("2"), slack} {
		f.ask("u "+c.String(), c, "u", growth("hers"))
		f.ask("e "+c.String(), c, "e", growth("eve's"))
	}
	f.must(s.old(private("u"), "old, in a chat with her id"))
	f.must(s.old(private("9"), "old, of others"))
	f.ask("fold", private("1"), "e", chat.Growth{Compaction: f.upto(private("1"), "both", 0)})
	f.ask("fold 3", private("3"), "e", growth("x"))
	f.ask("fold 4", private("3"), "e", chat.Growth{Compaction: f.upto(private("3"), "x", 0)})
	waiting(private("1"), "1", "u")
	waiting(private("1"), "2", "e")
	waiting(slack, "1", "u")
	f.ask("used", private("2"), "u", chat.Growth{Usage: []chat.Usage{{Prompt: 7}}})
	f.run("runs", private("2"), "u", "")
	only := private("nothing but a consent")
	for _, c := range []chat.Conversation{private("1"), only, slack} {
		for _, u := range []chat.UserID{"u", "e"} {
			f.must(f.Consent(ctx, c, u, "buy"))
		}
	}
	for _, p := range []chat.Person{ada(), eve(), {Endpoint: "slack", User: "u"}} {
		for _, text := range []string{"a fact", "a second one"} {
			_, err := f.Remember(ctx, p, text, 10)
			f.must(err)
		}
	}
	for _, p := range []chat.Person{ada(), eve()} {
		f.must(f.Admit(ctx, chat.Admission{Person: p, At: clock.now()}))
		f.must(f.SavePairingRequest(ctx, chat.PairingRequest{Person: p, At: clock.now()}))
	}
	n, err := s.DeletePerson(ctx, ada())
	f.must(err)
	if n != 6 {
		t.Errorf("got %d, want three entries, a message and two facts", n)
	}
	f.waits("tg:1/2", "slack:1/1", "tg:2/of runs!")
	f.keeps(private("1"), "", "e tg:1 e: eve's")
	f.keeps(private("2"), "", "e tg:2 e: eve's")
	f.keeps(private("3"), "x")
	f.keeps(private("u"), "")
	f.keeps(private("9"), "", " : old, of others")
	f.keeps(slack, "", "u slack:1 u: hers", "e slack:1 e: eve's")
	f.is(f.Decide(ctx, "runs", decision("x", "late")), store.ErrFenced)
	for _, c := range []chat.Conversation{private("1"), only, slack} {
		for _, u := range []chat.UserID{"u", "e"} {
			if may, err := f.Consented(ctx, c, u, "buy"); may == (u == "u" && c != slack) || err != nil {
				t.Errorf("%s in %s: got %v, %v", u, c, may, err)
			}
		}
	}
	f.knows(ada())
	f.knows(eve(), "1 a fact", "2 a second one")
	f.knows(chat.Person{Endpoint: "slack", User: "u"}, "1 a fact", "2 a second one")
	fact, err := f.Remember(ctx, ada(), "a stranger's", 10)
	f.must(err)
	if fact.ID != "1" {
		t.Errorf("got %+v, want nothing left of how much she told", fact)
	}
	f.uses(chat.UsageOf{Person: ada()}, 0, 0)
	f.uses(chat.UsageOf{}, 7, 1)
	requests, err := f.PairingRequests(ctx)
	f.must(err)
	admitted, err := f.Admitted(ctx)
	f.must(err)
	if len(requests) != 1 || len(admitted) != 1 || requests[0].Person != eve() || admitted[0].Person != eve() {
		t.Errorf("got %+v and %+v, want the other one", requests, admitted)
	}
}

// Entries that an older version of telex has stored have no turn. To undo a turn of such a history, the store must
// treat each message of a user as the beginning of a turn.
func TestUndoOfOldEntries(t *testing.T) {
	t.Parallel()
	f, s, _ := newFixture(t)
	c := private("1")
	f.must(store.Append(t.Context(), s, c, "no JSON", `{"role":"user"}`, `{"role":"assistant"}`, `{"role":"tool"}`))
	f.ask("new", c, "u", growth("x"))
	for _, want := range []int{1, 3, 1, 0} {
		undone, err := f.Undo(t.Context(), c, chat.Turn{})
		f.must(err)
		if len(undone) != want {
			t.Fatalf("got %+v, want %d", undone, want)
		}
	}
}

func testSweepOfSessionsAndUsage(t *testing.T, new newKept) {
	t.Helper()
	const day = 24 * time.Hour
	f, s, clock := new(t)
	ctx, c := t.Context(), private("1")
	f.ask("1", c, "u", chat.Growth{History: growth("a").History, Usage: []chat.Usage{{Prompt: 1}}})
	f.ask("2", c, "u", chat.Growth{Compaction: f.upto(c, "a", 0)})
	f.must(f.Choose(ctx, private("2"), "m"))
	f.must(f.Forget(ctx, private("3")))
	sweep := func(retention time.Duration, want store.Swept) {
		t.Helper()
		swept, err := s.Sweep(ctx, clock.now(), retention)
		f.must(err)
		if swept != want {
			t.Errorf("got %+v, want %+v", swept, want)
		}
	}
	clock.advance(10 * day)
	sweep(0, store.Swept{Messages: 2, Turns: 2})
	f.keeps(c, "a")
	sweep(9*day, store.Swept{Entries: 1, Summaries: 1})
	f.keeps(c, "")
	clock.advance(390 * day)
	sweep(day, store.Swept{})
	f.uses(chat.UsageOf{Conversation: c}, 1, 1)
	clock.advance(day)
	sweep(day, store.Swept{Usage: 1})
	rep, err := s.Check(ctx)
	f.must(err)
	if rep.Conversations != 1 {
		t.Errorf("got %+v, want the one with a chosen model", rep)
	}
	if got, _ := f.session(private("2")); got.Model != "m" {
		t.Errorf("got %+v, want the chosen model", got)
	}
}

// The test deletes a person, and checks the person's usage afterwards. The usage must stay in the totals, but must not
// contain the ids of chats that only this person used.
func testDeletePersonLeavesNoChat(t *testing.T, new newKept) {
	t.Helper()
	f, s, clock := new(t)
	ctx := t.Context()
	ten := chat.Growth{Usage: []chat.Usage{{Prompt: 10, Calls: 1}}}
	direct, crowd := private("D9"), private("-5")
	f.ask("hers", private("u"), "u", ten)
	f.ask("also hers", direct, "u", ten)
	f.ask("hers among others", crowd, "u", ten)
	f.ask("eve's", crowd, "e", ten)
	empty := private("-6") // a group in which only the deleted person asked
	f.accept(empty, "1")
	turn := turnOf("hers in a group", empty, "1")
	turn.User, turn.To.Kind = "u", chat.Group
	f.must(f.Begin(ctx, turn))
	f.must(f.End(ctx, turn.ID, ten))
	f.must(f.Choose(ctx, private("u"), "m"))
	f.must(f.Choose(ctx, empty, "m"))
	f.run("runs", private("u"), "u", "")
	_, err := s.DeletePerson(ctx, ada())
	f.must(err)
	f.must(f.End(ctx, "runs", ten))

	got, err := s.Account(ctx, store.AccountOptions{By: []store.UsageBy{store.ByConversation, store.ByPerson}})
	f.must(err)
	sum := func(turns int) chat.Used {
		return chat.Used{Usage: chat.Usage{Prompt: 10 * turns, Calls: turns}, Turns: turns}
	}
	nobody := chat.Person{Endpoint: "tg"}
	want := []store.AccountRow{
		{Conversation: private(""), Person: nobody, Used: sum(3)},
		{Conversation: crowd, Person: nobody, Used: sum(1)},
		{Conversation: crowd, Person: eve(), Used: sum(1)},
		{Conversation: empty, Person: nobody, Used: sum(1)},
	}
	if !reflect.DeepEqual(got.Rows, want) || got.Total != sum(6) {
		t.Errorf("got %+v, total %+v,\nwant %+v", got.Rows, got.Total, want)
	}
	list, err := s.Sessions(ctx)
	f.must(err)
	if len(list) != 1 || list[0].Conversation != empty {
		t.Errorf("sessions are %+v, want the group's alone", list)
	}
	clock.advance(10 * 24 * time.Hour)
	_, err = s.Sweep(ctx, clock.now(), 0)
	f.must(err)
	if rep, err := s.Check(ctx); err != nil || rep.Conversations != 3 {
		t.Errorf("%+v, %v; want the conversations of the two groups and of the deleted", rep, err)
	}
}
