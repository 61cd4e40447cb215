package store_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"telex/internal/chat"
)

// ask stores a whole turn that answers a person, and adds the growth g to the session.
func (f *fixture) ask(id string, c chat.Conversation, u chat.UserID, g chat.Growth) {
	f.Helper()
	f.run(id, c, u, "")
	f.must(f.End(f.Context(), id, g))
}

// run begins a turn that answers a new message.
func (f *fixture) run(id string, c chat.Conversation, u chat.UserID, replaces string) {
	f.Helper()
	m := chat.MessageID("of " + id)
	f.accept(c, m)
	turn := turnOf(id, c, m)
	turn.User, turn.Replaces = u, replaces
	f.must(f.Begin(f.Context(), turn))
}

// session returns a session, and its entries in the format "turn user: body".
func (f *fixture) session(c chat.Conversation) (chat.Session, []string) {
	f.Helper()
	s, entries, err := f.Session(f.Context(), c)
	f.must(err)
	list := []string{}
	for i, e := range entries {
		if e.ID <= s.SummaryUpto || i > 0 && e.ID <= entries[i-1].ID {
			f.Fatalf("got entry %d after %d, folded up to %d", e.ID, entries[max(0, i-1)].ID, s.SummaryUpto)
		}
		list = append(list, fmt.Sprintf("%s %s: %s", e.Turn, e.User, e.Body))
	}
	return s, list
}

// keeps checks that a session has the given summary and exactly these entries.
func (f *fixture) keeps(c chat.Conversation, summary string, want ...string) {
	f.Helper()
	s, got := f.session(c)
	if s.Summary != summary || !slices.Equal(got, want) && len(got)+len(want) > 0 || (summary == "") != (s.SummaryUpto == 0) {
		f.Fatalf("session of %s: got %+v and %q, want summary %q and %q", c, s, got, summary, want)
	}
}

// upto returns a compaction whose summary covers all entries except the newest ones. The parameter but is the number of
// entries that the summary does not cover.
func (f *fixture) upto(c chat.Conversation, summary string, but int) *chat.Compaction {
	f.Helper()
	_, entries, err := f.Session(f.Context(), c)
	f.must(err)
	return &chat.Compaction{Summary: summary, Upto: entries[len(entries)-1-but].ID}
}

func testAsker(f *fixture) {
	c, start := private("1"), time.Now()
	f.accept(c, "1", "2")
	in := message(c, "3")
	in.Sender.ID = "newest"
	_, err := f.Accept(f.Context(), c, in)
	f.must(err)
	turn := turnOf("t", c, "1")
	turn.Messages = append(turn.Messages, in)
	turn.Replaces = "earlier"
	f.must(f.Begin(f.Context(), turn))
	f.reopen()
	if got := f.unfinished(); got.User != "newest" || got.Replaces != "earlier" {
		f.Fatalf("got %+v, want the sender of the newest message and what the turn replaces", got)
	}
	time.Sleep(time.Minute)
	f.must(f.Decide(f.Context(), "t", decision("x", "q")))
	f.must(f.End(f.Context(), "t", growth("a")))
	f.keeps(c, "", "t newest: q", "t newest: a")
	_, entries, err := f.Session(f.Context(), c)
	f.must(err)
	if at := entries[0].At; !at.Equal(start.Add(time.Minute)) {
		f.Errorf("got %v, want the time it was stored", at)
	}
	turn = turnOf("given", c, "2")
	turn.User = "other"
	f.must(f.Begin(f.Context(), turn))
	if got := f.unfinished(); got.User != "other" || got.Replaces != "" {
		f.Errorf("got %+v, want the user that was given", got)
	}
}

func testJoin(f *fixture) {
	ctx, c := f.Context(), private("1")
	f.accept(c, "1", "2", "3", "4", "5")
	f.accept(private("2"), "2")
	f.begin("other", c, "3")
	f.must(f.Drop(ctx, c, "4"))
	time.Sleep(time.Second)
	f.begin("t", c, "1")
	f.must(f.Join(ctx, "t", "2", "3", "4", "2", "unknown"))
	f.must(f.Join(ctx, "t"))
	f.reopen()
	f.waits("tg:1/5", "tg:2/2", "tg:1/3!", "tg:1/1!", "tg:1/2!")
	f.must(f.Release(ctx, "t", chat.Usage{Model: "m", Prompt: 7, Calls: 1}))
	f.must(f.Release(ctx, "t", chat.Usage{Model: "m", Prompt: 7, Calls: 1}))
	f.uses(chat.UsageOf{Conversation: c}, 7, 1) // the usage of a released turn must be counted, but only once
	pending, err := f.Pending(ctx)
	f.must(err)
	if len(pending) != 4 || pending[1].Message.ID != "2" || pending[1].Begun != 0 {
		f.Fatalf("got %+v, want what joined to wait again", pending)
	}
	f.begin("next", c, "1")
	f.must(f.Join(ctx, "next", "2"))
	f.must(f.Decide(ctx, "next", decision("x")))
	f.fails(f.Join(ctx, "next", "5"))
	f.must(f.End(ctx, "next", chat.Growth{}))
	f.fails(f.Join(ctx, "next", "5"))
	f.fails(f.Join(ctx, "never", "5"))
	f.must(f.Forget(ctx, c))
	f.fails(f.Join(ctx, "other", "5"))
	f.waits("tg:1/5", "tg:2/2", "tg:1/3!")
}

func testChoose(f *fixture) {
	ctx, c := f.Context(), private("1")
	model := func(of chat.Conversation, want string) {
		f.Helper()
		f.reopen()
		if s, _ := f.session(of); s != (chat.Session{Model: want}) {
			f.Fatalf("got %+v, want model %q and nothing else", s, want)
		}
	}
	model(c, "")
	f.must(f.Choose(ctx, c, "small"))
	f.must(f.Choose(ctx, c, "large"))
	model(c, "large")
	model(private("2"), "")
	f.ask("t", c, "u", chat.Growth{Compaction: &chat.Compaction{Summary: "s", Upto: 1}})
	f.must(f.Forget(ctx, c)) // Forget must not delete the chosen model
	model(c, "large")
	f.must(f.Choose(ctx, c, ""))
	model(c, "")
}

func testCompaction(f *fixture) {
	c, start := private("1"), time.Now()
	f.ask("1", c, "u", growth("a", "b"))
	f.ask("2", c, "u", growth("c"))
	g := growth("d")
	g.Compaction = f.upto(c, "ab", 1)
	time.Sleep(time.Second)
	f.run("3", c, "u", "")
	f.must(f.Decide(f.Context(), "3", chat.Decision{Growth: g}))
	f.must(f.Decide(f.Context(), "3", chat.Decision{Growth: g})) // call again, as after an unknown outcome
	f.reopen()
	f.keeps(c, "ab", "2 u: c", "3 u: d")
	less := g.Compaction
	f.must(f.End(f.Context(), "3", chat.Growth{Compaction: f.upto(c, "abc", 1)}))
	f.keeps(c, "abc", "3 u: d")
	if s, _ := f.session(c); s.Compactions != 2 || !s.At.Equal(start.Add(time.Second)) {
		f.Errorf("got %+v, want two compactions", s)
	}
	f.ask("4", c, "u", chat.Growth{Compaction: less}) // must be ignored: this summary covers fewer entries than the stored one
	f.keeps(c, "abc", "3 u: d")
	f.ask("5", c, "u", chat.Growth{Compaction: f.upto(c, "all", 0)})
	f.keeps(c, "all")
	f.ask("6", c, "u", growth("e"))
	f.keeps(c, "all", "6 u: e")
	f.must(f.Forget(f.Context(), c))
	f.keeps(c, "")
}

func testUndo(f *fixture) {
	ctx, c := f.Context(), private("1")
	undoes := func(want ...string) {
		f.Helper()
		undone, err := f.Undo(ctx, c, chat.Turn{})
		f.must(err)
		got := []string{}
		for _, e := range undone {
			got = append(got, e.Turn+": "+string(e.Body))
		}
		if !slices.Equal(got, want) && len(got)+len(want) > 0 {
			f.Fatalf("undone: got %q, want %q", got, want)
		}
	}
	undoes()
	f.ask("1", c, "u", growth("a", "b"))
	f.ask("2", c, "u", chat.Growth{History: growth("c").History, Compaction: f.upto(c, "a", 1)})
	f.run("beside", c, "u", "")
	f.must(f.Decide(ctx, "beside", decision("x", "d")))
	f.ask("3", c, "u", growth("e"))
	f.ask("other", private("2"), "u", growth("x"))
	late := f.upto(c, "late", 0)
	f.must(f.End(ctx, "beside", growth("f")))
	f.run("late", c, "u", "")
	undoes("beside: d", "beside: f")
	f.must(f.End(ctx, "late", chat.Growth{Compaction: late})) // must be ignored: this summary covers entries that Undo has deleted
	undoes("3: e")
	f.reopen()
	undoes("2: c")
	f.keeps(c, "a", "1 u: b")
	undoes("1: b") // a summary covers entry a, so the entry can't be undone
	undoes()
	f.keeps(c, "a")
	f.keeps(private("2"), "", "other u: x")
}

// testUndoSays checks that Undo deletes the entries and begins the turn that answers the command /undo in one
// transaction. Because of the single transaction, a crash can't cause the command to be executed twice.
func testUndoSays(f *fixture) {
	ctx, c := f.Context(), private("1")
	f.ask("1", c, "u", growth("a"))
	f.ask("2", c, "u", growth("b"))
	says := turnOf("says", c, "nowhere")
	says.Ending = []byte("done")
	if _, err := f.Undo(ctx, c, says); err == nil {
		f.Error("a message that is not there was answered")
	}
	f.keeps(c, "", "1 u: a", "2 u: b")
	f.accept(c, "undo")
	says.Messages = []chat.Inbound{message(c, "undo")}
	undone, err := f.Undo(ctx, c, says)
	f.must(err)
	if len(undone) != 1 || undone[0].Turn != "2" {
		f.Errorf("undone: %+v", undone)
	}
	f.reopen()
	f.keeps(c, "", "1 u: a")
	if got := f.unfinished(); got.ID != "says" || got.State != chat.TurnDecided || string(got.Ending) != "done" {
		f.Errorf("got %+v", got)
	}
	f.waits("tg:1/undo!")
}

func testReplaces(f *fixture) {
	ctx, c := f.Context(), private("1")
	f.ask("first", c, "u", growth("a", "b"))
	f.ask("second", c, "u", growth("c"))
	f.ask("elsewhere", private("2"), "u", growth("x"))
	f.run("nothing", c, "u", "first")
	f.must(f.Decide(ctx, "nothing", decision("x")))
	f.must(f.End(ctx, "nothing", chat.Growth{}))
	f.keeps(c, "", "first u: a", "first u: b", "second u: c") // the turn that should replace the turn "first" added no entries
	f.run("not here", c, "u", "elsewhere")
	f.must(f.End(ctx, "not here", growth("d")))
	f.run("again", c, "u", "first")
	f.reopen()
	f.must(f.Decide(ctx, "again", decision("x", "A")))
	f.must(f.End(ctx, "again", growth("B")))
	f.keeps(c, "", "second u: c", "not here u: d", "again u: A", "again u: B")
	f.keeps(private("2"), "", "elsewhere u: x")
	f.run("forgotten", c, "u", "again")
	f.must(f.Forget(ctx, c))
	f.must(f.End(ctx, "forgotten", growth("late")))
	f.keeps(c, "")
}

func testErase(f *fixture) {
	ctx, c := f.Context(), private("1")
	erases := func(u chat.UserID, want int) {
		f.Helper()
		if n, err := f.Erase(ctx, c, u); n != want || err != nil {
			f.Fatalf("erase %s: got %d, %v, want %d", u, n, err, want)
		}
		f.reopen()
	}
	erases("ada", 0)
	f.must(f.Choose(ctx, c, "m"))
	f.ask("1", c, "ada", growth("a", "b"))
	f.ask("2", c, "eve", growth("c"))
	f.ask("3", c, "ada", growth("d"))
	f.ask("4", private("2"), "ada", growth("x"))
	f.ask("5", c, "eve", chat.Growth{Compaction: f.upto(c, "abc", 1)})
	used := []chat.Usage{{Model: "m", Prompt: 7, Calls: 1}}
	f.ask("6", c, "ada", chat.Growth{Usage: used})
	f.keeps(c, "abc", "3 ada: d")
	f.run("hers", c, "ada", "")
	f.run("eve's", c, "eve", "")
	late := growth("late")
	late.Usage, late.Compaction = used, f.upto(c, "late", 0)
	erases("ada", 3)
	f.keeps(c, "", "2 eve: c") // the summary is deleted, so eve's entry is part of the history again
	f.keeps(private("2"), "", "4 ada: x")
	f.fails(f.Decide(ctx, "hers", chat.Decision{Growth: late}))
	f.must(f.End(ctx, "hers", late))
	f.must(f.End(ctx, "eve's", late))
	f.keeps(c, "", "2 eve: c", "eve's eve: late") // the summary was refused, because it could mention erased entries
	f.uses(chat.UsageOf{Conversation: c}, 21, 3)
	f.uses(chat.UsageOf{Person: chat.Person{Endpoint: "tg", User: "ada"}}, 14, 2) // Erase must keep the person's usage
	if s, _ := f.session(c); s.Model != "m" || s.Compactions != 0 || !s.At.IsZero() {
		f.Errorf("got %+v, want the model and no summary", s)
	}
}

// uses checks the number of prompt tokens and the number of turns in the selected usage.
func (f *fixture) uses(of chat.UsageOf, prompt, turns int) {
	f.Helper()
	u, err := f.Used(f.Context(), of)
	f.must(err)
	if u.Prompt != prompt || u.Turns != turns {
		f.Fatalf("%+v: got %+v, want %d tokens of %d turns", of, u, prompt, turns)
	}
}

func testUsed(f *fixture) {
	ctx, c, start := f.Context(), private("1"), time.Now()
	all := chat.Usage{Prompt: 1000, Cached: 200, Completion: 30, Reasoning: 4, Calls: 1, Estimated: true}
	for field, value := range reflect.ValueOf(all).Fields() {
		if value.IsZero() != (field.Name == "Model") {
			f.Fatalf("chat.Usage.%s is not set, so it is not tested", field.Name)
		}
	}
	f.uses(chat.UsageOf{}, 0, 0)
	f.ask("1", c, "ada", chat.Growth{Usage: []chat.Usage{all, {Model: "other", Prompt: 1, Calls: 2}}})
	got, err := f.Used(ctx, chat.UsageOf{})
	f.must(err)
	want := chat.Used{Usage: all, Turns: 1, Last: "other"}
	want.Prompt, want.Calls = 1001, 3
	if got != want {
		f.Fatalf("got %+v, want %+v", got, want)
	}
	time.Sleep(24 * time.Hour)
	ten := []chat.Usage{{Prompt: 10, Calls: 1}}
	f.run("2", c, "ada", "")
	for range 2 { // a repeated call must not be counted again
		f.must(f.Decide(ctx, "2", chat.Decision{Growth: chat.Growth{Usage: ten}}))
	}
	f.must(f.End(ctx, "2", chat.Growth{Undecided: ten})) // Decide has already stored this usage
	f.must(f.End(ctx, "2", chat.Growth{Usage: ten, Undecided: ten}))
	f.ask("3", private("2"), "ada", chat.Growth{Usage: []chat.Usage{{Prompt: 100}}})
	f.ask("4", c, "eve", chat.Growth{Usage: []chat.Usage{{Prompt: 5}}})
	slack := chat.Conversation{Endpoint: "slack", Chat: "1"}
	f.ask("5", slack, "ada", chat.Growth{Usage: []chat.Usage{{Prompt: 7}}})
	f.run("6", c, "ada", "")
	f.must(f.Forget(ctx, c)) // after Forget, the turn's usage must be counted nevertheless
	f.fails(f.Decide(ctx, "6", chat.Decision{Growth: chat.Growth{Usage: ten}}))
	f.must(f.End(ctx, "6", chat.Growth{Undecided: ten}))
	f.reopen()
	ada := chat.Person{Endpoint: "tg", User: "ada"}
	today := start.Add(24 * time.Hour)
	f.uses(chat.UsageOf{Conversation: c}, 1026, 4)
	f.uses(chat.UsageOf{Conversation: c, From: today}, 25, 3)
	f.uses(chat.UsageOf{Conversation: c, To: today}, 1001, 1)
	f.uses(chat.UsageOf{Conversation: c, Person: ada, From: start, To: today}, 1001, 1)
	f.uses(chat.UsageOf{Conversation: private("9")}, 0, 0)
	f.uses(chat.UsageOf{Person: ada}, 1121, 4)
	f.uses(chat.UsageOf{Person: ada, From: today}, 120, 3)
	f.uses(chat.UsageOf{Person: chat.Person{Endpoint: "tg"}}, 1126, 5)
	f.uses(chat.UsageOf{Person: chat.Person{Endpoint: "slack", User: "eve"}}, 0, 0)
	f.uses(chat.UsageOf{From: today}, 132, 5)
	f.uses(chat.UsageOf{From: today.Add(time.Millisecond)}, 0, 0)
}

// The test merges the sessions of chats by moves: first one with a summary into one without, then two with summaries.
// After the move, each entry must be either in the history or covered by a summary.
func testMoveSessions(f *fixture) {
	ctx := f.Context()
	f.ask("a1", group(), "u", growth("1"))
	f.ask("b1", supergroup(), "u", growth("2"))
	f.ask("a2", group(), "u", growth("3"))
	f.ask("b2", supergroup(), "u", growth("4"))
	f.must(f.Choose(ctx, group(), "m"))
	used := []chat.Usage{{Prompt: 1}}
	time.Sleep(time.Second)
	f.ask("a3", group(), "u", chat.Growth{Compaction: f.upto(group(), "to 3", 0), Usage: used})
	f.run("knows a", group(), "u", "")
	f.run("knows b", supergroup(), "u", "")
	f.must(f.Decide(ctx, "knows b", decision("x")))
	f.ask("a4", group(), "u", growth("5"))
	fold := f.upto(group(), "to 5", 0)
	f.must(f.Move(ctx, "tg", "-1", "-1001"))
	f.reopen()
	f.keeps(supergroup(), "to 3", "b1 u: 2", "b2 u: 4", "a4 u: 5")
	f.must(f.End(ctx, "knows a", chat.Growth{Compaction: fold}))
	f.must(f.End(ctx, "knows b", chat.Growth{Compaction: f.upto(group(), "to 5", 0)}))
	f.keeps(group(), "to 3", "b1 u: 2", "b2 u: 4", "a4 u: 5") // both summaries must be ignored, because neither covers both chats
	f.ask("c1", group(), "u", chat.Growth{Compaction: f.upto(group(), "to 4", 1), Usage: used})
	f.keeps(group(), "to 4", "a4 u: 5")
	f.uses(chat.UsageOf{Conversation: group()}, 2, 2)
	if s, _ := f.session(group()); s.Model != "m" || s.Compactions != 2 {
		f.Errorf("got %+v, want the model, and two compactions", s)
	}
	f.ask("d1", private("3"), "u", growth("6"))
	f.ask("d2", private("3"), "u", chat.Growth{Compaction: f.upto(private("3"), "to 6", 0)})
	f.must(f.Choose(ctx, private("3"), "mine"))
	f.must(f.Move(ctx, "tg", "-1001", "3"))
	f.keeps(private("3"), "to 4\n\nto 6", "a4 u: 5")
	if s, _ := f.session(private("3")); s.Model != "mine" || s.Compactions != 3 {
		f.Errorf("got %+v, want the model of the chat that was there, and all compactions", s)
	}
	// When the summary is gone, all entries that it covered must be part of the history again, each of them once.
	_, err := f.Erase(ctx, private("3"), "nobody")
	f.must(err)
	_, got := f.session(private("3"))
	slices.SortFunc(got, func(a, b string) int { return cmp.Compare(a[len(a)-1], b[len(b)-1]) })
	want := []string{"a1 u: 1", "b1 u: 2", "a2 u: 3", "b2 u: 4", "a4 u: 5", "d1 u: 6"}
	if !slices.Equal(got, want) {
		f.Errorf("got %q, want %q", got, want)
	}
}
