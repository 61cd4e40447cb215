package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"telex/gateway"
	"telex/internal/chat"
)

// plainSteps returns journal steps. In the result, an empty body and a missing body look the same.
func plainSteps(steps []chat.Step) (list []chat.Step) {
	for _, s := range steps {
		if len(s.Body) == 0 {
			s.Body = nil
		}
		list = append(list, s)
	}
	return list
}

// notes checks that the journal of the only unfinished turn contains exactly the given steps.
func (f *fixture) notes(want ...chat.Step) {
	f.Helper()
	if got := plainSteps(f.unfinished().Steps); !reflect.DeepEqual(got, want) {
		f.Fatalf("journal: got %+v, want %+v", got, want)
	}
}

func step(kind chat.StepKind, call, body string) chat.Step {
	s := chat.Step{Kind: kind, Call: call}
	if body != "" {
		s.Body = []byte(body)
	}
	return s
}

func testNotes(f *fixture) {
	ctx, c := f.Context(), private("1")
	f.accept(c, "1", "2")
	f.begin("t", c, "1")
	f.notes()
	said := step(chat.StepSaid, "", `{"role":"assistant","text":"a \"quote\", ünïcode and a \\u0000"}`)
	begun, answered := step(chat.StepBegun, "call 1", ""), step(chat.StepAnswered, "call 1", "done")
	f.must(f.Note(ctx, "t", said))
	f.must(f.Note(ctx, "t", begun, answered))
	f.must(f.Note(ctx, "t"))
	f.must(f.Note(ctx, "t", begun)) // a journal may contain the same step twice
	f.reopen()
	f.notes(said, begun, answered, begun)
	f.begin("t", c, "1") // the turn begins again and must find the earlier steps
	asked := step(chat.StepAsked, "call 2", "may I?")
	body := []byte("may I?")
	f.must(f.Note(ctx, "t", chat.Step{Kind: asked.Kind, Call: asked.Call, Body: body}))
	body[0] = 'X'
	f.must(f.Note(ctx, "t", step(chat.StepDecided, "call 2", "yes")))
	f.reopen()
	f.notes(said, begun, answered, begun, asked, step(chat.StepDecided, "call 2", "yes"))

	time.Sleep(time.Second)
	f.begin("beside", c, "2") // this turn must have a journal of its own
	f.must(f.Note(ctx, "beside", said))
	f.must(f.End(ctx, "t", chat.Growth{}))
	f.notes(said)
}

func testNotesEnd(f *fixture) {
	ctx, c := f.Context(), private("1")
	said := step(chat.StepSaid, "", "x")
	f.accept(c, "1")
	f.begin("released", c, "1")
	f.must(f.Note(ctx, "released", said))
	f.must(f.Release(ctx, "released"))
	f.fails(f.Note(ctx, "released", said))
	f.begin("decided", c, "1")
	f.notes()
	f.must(f.Note(ctx, "decided", said))
	f.must(f.Decide(ctx, "decided", decision("x")))
	f.notes() // Decide must delete the journal, because the turn will not run again
	f.fails(f.Note(ctx, "decided", said))
	f.reopen()
	f.notes()
	f.must(f.End(ctx, "decided", chat.Growth{}))
	f.fails(f.Note(ctx, "decided", said))
	f.fails(f.Note(ctx, "never", said))
}

func testNotesFenced(f *fixture) {
	ctx, c := f.Context(), private("1")
	said := step(chat.StepSaid, "", "x")
	f.run("1", c, "ada", "")
	f.must(f.Note(ctx, "1", said))
	f.must(f.Forget(ctx, c))
	f.fails(f.Note(ctx, "1", said))
	f.must(f.End(ctx, "1", chat.Growth{}))
	f.run("2", c, "ada", "")
	f.must(f.Note(ctx, "2", said))
	_, err := f.Erase(ctx, c, "eve")
	f.must(err)
	f.must(f.Note(ctx, "2", said))
	f.notes(said, said)
	_, err = f.Erase(ctx, c, "ada")
	f.must(err)
	f.fails(f.Note(ctx, "2", said))
	f.fails(f.Note(ctx, "2"))
	used := step(chat.StepUsage, "", "tokens")
	f.fails(f.Note(ctx, "2", used, said))
	f.must(f.Note(ctx, "2", used)) // a fenced turn must still be able to note usage
	f.notes(said, said, used)
	f.must(f.End(ctx, "2", chat.Growth{}))
}

func testNotesMove(f *fixture) {
	ctx := f.Context()
	said := step(chat.StepSaid, "", "x")
	f.remember(supergroup(), "there already")
	f.run("t", group(), "ada", "")
	f.must(f.Note(ctx, "t", said))
	f.must(f.Move(ctx, "tg", "-1", "-1001"))
	f.must(f.Note(ctx, "t", said))
	f.reopen()
	f.notes(said, said)
}

// consents checks that exactly these people have permanently approved the tool "buy" in a conversation.
func (f *fixture) consents(c chat.Conversation, want ...chat.UserID) {
	f.Helper()
	got := []chat.UserID{}
	for _, u := range []chat.UserID{"ada", "eve", ""} {
		may, err := f.Consented(f.Context(), c, u, "buy")
		f.must(err)
		if may {
			got = append(got, u)
		}
	}
	if !slices.Equal(got, want) {
		f.Fatalf("consents in %s: got %q, want %q", c, got, want)
	}
}

func testConsents(f *fixture) {
	ctx, c := f.Context(), private("1")
	thread := chat.Conversation{Endpoint: "tg", Chat: "1", Thread: "t"}
	f.consents(c)
	for range 2 { // call twice, because a caller repeats a call whose outcome is unknown
		f.must(f.Consent(ctx, c, "ada", "buy"))
	}
	f.must(f.Consent(ctx, c, "eve", "sell"))
	f.reopen()
	f.consents(c, "ada")
	for _, other := range []chat.Conversation{thread, private("2"), {Endpoint: "slack", Chat: "1"}} {
		f.consents(other)
	}
	if may, err := f.Consented(ctx, c, "eve", "sell"); !may || err != nil {
		f.Errorf("got %v, %v, want what eve approved", may, err)
	}
	if may, err := f.Consented(ctx, c, "ada", "Buy"); may || err != nil {
		f.Errorf("got %v, %v, want no other tool", may, err)
	}
	// A permanent approval must not expire. The sweep must not delete the conversation of this approval, even if nothing
	// else is stored in the conversation.
	time.Sleep(1000 * 24 * time.Hour)
	if s, ok := f.Store.(durable); ok {
		_, err := s.Sweep(ctx, time.Now(), time.Hour)
		f.must(err)
	}
	f.reopen()
	f.consents(c, "ada")
}

func testConsentsForgotten(f *fixture) {
	ctx, one, two := f.Context(), private("1"), private("2")
	for _, c := range []chat.Conversation{one, two} {
		f.must(f.Consent(ctx, c, "ada", "buy"))
		f.must(f.Consent(ctx, c, "ada", "sell"))
		f.must(f.Consent(ctx, c, "eve", "buy"))
	}
	_, err := f.Erase(ctx, one, "ada")
	f.must(err)
	f.reopen()
	f.consents(one, "eve")
	if may, err := f.Consented(ctx, one, "ada", "sell"); may || err != nil {
		f.Errorf("got %v, %v, want nothing of hers left", may, err)
	}
	f.consents(two, "ada", "eve")
	f.must(f.Forget(ctx, two))
	f.reopen()
	f.consents(two)
	f.consents(one, "eve")
	_, err = f.Undo(ctx, one, chat.Turn{})
	f.must(err)
	f.consents(one, "eve")
}

func testConsentsMove(f *fixture) {
	ctx := f.Context()
	thread := chat.Conversation{Endpoint: "tg", Chat: "-1", Thread: "t"}
	f.must(f.Consent(ctx, group(), "ada", "buy"))
	f.must(f.Consent(ctx, thread, "eve", "buy")) // the new chat has no approval in this thread yet
	f.must(f.Consent(ctx, supergroup(), "ada", "buy"))
	f.must(f.Consent(ctx, supergroup(), "eve", "buy"))
	f.must(f.Move(ctx, "tg", "-1", "-1001"))
	f.reopen()
	f.consents(supergroup(), "ada", "eve")
	f.consents(group(), "ada", "eve") // the old chat id must refer to the new chat
	thread.Chat = "-1001"
	f.consents(thread, "eve")
	f.must(f.Consent(ctx, group(), "", "buy"))
	f.must(f.Forget(ctx, group()))
	f.consents(supergroup())
	f.consents(thread, "eve")
}

// knows checks that the store has exactly these facts of a person. Each fact in want is given as "ID text".
func (f *fixture) knows(p chat.Person, want ...string) {
	f.Helper()
	facts, err := f.Facts(f.Context(), p)
	f.must(err)
	got := []string{}
	for _, x := range facts {
		got = append(got, x.ID+" "+x.Text)
	}
	if !slices.Equal(got, want) {
		f.Fatalf("facts of %s: got %q, want %q", p, got, want)
	}
}

// rememberAll stores facts for a person.
func (f *fixture) rememberAll(p chat.Person, texts ...string) {
	f.Helper()
	for _, text := range texts {
		fact, err := f.Remember(f.Context(), p, text, 100)
		f.must(err)
		if fact.Text != text || fact.ID == "" || !fact.At.Equal(time.Now()) || !fact.IsNew() {
			f.Fatalf("got %+v, want what was told now", fact)
		}
	}
}

// Somebody adds the same fact again, sometimes with other upper-case and lower-case letters. The store must contain
// this fact only once. The limit for the facts of a person must also hold if several calls add facts at the same time.
func testFactsOnce(f *fixture) {
	ctx := f.Context()
	remembers := func(text string, want chat.Remembered) {
		f.Helper()
		got, err := f.Remember(ctx, ada(), text, 3)
		f.must(err)
		if got.At = want.At; got != want {
			f.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
	tides := chat.Fact{ID: "1", Text: "Likes TIDES and Ümläute"}
	remembers(tides.Text, chat.Remembered{Fact: tides})
	remembers("likes tides and ÜMLÄUTE", chat.Remembered{Fact: tides, Known: true})
	f.rememberAll(eve(), tides.Text) // the facts of another person must not count for the limit
	f.rememberAll(ada(), "b", "c")
	remembers("d", chat.Remembered{Full: true})
	remembers(tides.Text, chat.Remembered{Fact: tides, Known: true})
	f.reopen()
	f.knows(ada(), "1 "+tides.Text, "2 b", "3 c")
	_, err := f.ForgetFact(ctx, ada(), "2")
	f.must(err)
	remembers("d", chat.Remembered{Fact: chat.Fact{ID: "4", Text: "d"}})
	_, err = f.ForgetFacts(ctx, ada())
	f.must(err)
	f.rememberAtOnce(f.Store)
}

// rememberAtOnce makes several stores add the same facts at the same time, more facts than a person may have.
// Afterwards, the stores must contain each fact only once, and no more facts than the limit.
func (f *fixture) rememberAtOnce(stores ...gateway.Facts) {
	f.Helper()
	const most, told = 4, 6
	var calls sync.WaitGroup
	for i := range 2 * told {
		for _, s := range stores {
			calls.Go(func() {
				if _, err := s.Remember(f.Context(), ada(), fmt.Sprint("fact ", i/2), most); err != nil {
					f.Error(err)
				}
			})
		}
	}
	calls.Wait()
	facts, err := f.Facts(f.Context(), ada())
	f.must(err)
	different := map[string]bool{}
	for _, one := range facts {
		different[one.Text] = true
	}
	if len(facts) != most || len(different) != most {
		f.Errorf("%d facts are stored, %d different ones, want %d", len(facts), len(different), most)
	}
}

func testFacts(f *fixture) {
	ctx := f.Context()
	elsewhere := chat.Person{Endpoint: "slack", User: ada().User}
	f.knows(ada())
	start := time.Now()
	f.rememberAll(ada(), "likes tides")
	time.Sleep(time.Hour)
	f.rememberAll(eve(), "has a boat")
	f.rememberAll(ada(), "likes high tides", "ünïcode 🦊 and \"quotes\"")
	f.reopen()
	f.knows(ada(), "1 likes tides", "2 likes high tides", "3 ünïcode 🦊 and \"quotes\"")
	f.knows(eve(), "1 has a boat")
	f.knows(elsewhere)
	facts, err := f.Facts(ctx, ada())
	f.must(err)
	if !facts[0].At.Equal(start) || !facts[1].At.Equal(start.Add(time.Hour)) {
		f.Errorf("got %+v, want the times when they were told", facts)
	}
	for _, forget := range []struct {
		person chat.Person
		id     string
		was    bool
	}{
		{elsewhere, "1", false},
		{ada(), "", false},
		{ada(), "01", false},
		{ada(), "+1", false},
		{ada(), "1 OR 1=1", false},
		{ada(), "4", false},
		{ada(), "2", true},
		{ada(), "2", false},
		{eve(), "1", true},
	} {
		was, err := f.ForgetFact(ctx, forget.person, forget.id)
		f.must(err)
		if was != forget.was {
			f.Errorf("forget %q of %s: got %v, want %v", forget.id, forget.person, was, forget.was)
		}
	}
	f.reopen()
	f.knows(ada(), "1 likes tides", "3 ünïcode 🦊 and \"quotes\"")
	f.knows(eve())
}

func testFactNumbers(f *fixture) {
	ctx := f.Context()
	f.rememberAll(ada(), "a", "b")
	_, err := f.ForgetFact(ctx, ada(), "2") // this is the newest fact; its id must not be used again
	f.must(err)
	f.reopen()
	f.rememberAll(ada(), "c")
	f.knows(ada(), "1 a", "3 c")
	for _, want := range []int{2, 0} {
		n, err := f.ForgetFacts(ctx, ada())
		f.must(err)
		if n != want {
			f.Errorf("got %d, want %d", n, want)
		}
	}
	f.knows(ada())
	f.reopen()
	f.rememberAll(ada(), "d")
	f.knows(ada(), "4 d")
	var want []string
	for i := range 12 { // more than nine facts, to show that ids are ordered as numbers, not as text
		f.rememberAll(eve(), fmt.Sprint("x", i))
		want = append(want, fmt.Sprint(i+1, " x", i))
	}
	f.knows(eve(), want...)
}

// The facts of a person must be the same in all conversations, and must not expire.
func testFactsStay(f *fixture) {
	ctx, c := f.Context(), private("1")
	f.ask("1", c, ada().User, growth("said"))
	f.rememberAll(ada(), "a")
	f.must(f.Forget(ctx, c))
	_, err := f.Erase(ctx, c, ada().User)
	f.must(err)
	f.must(f.Move(ctx, "tg", "1", "2"))
	time.Sleep(1000 * 24 * time.Hour)
	if s, ok := f.Store.(durable); ok {
		_, err := s.Sweep(ctx, time.Now(), time.Hour)
		f.must(err)
	}
	f.reopen()
	f.knows(ada(), "1 a")
}
