package store_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/store"
	"telex/internal/store/memory"
)

var (
	_ gateway.Store = (*store.Store)(nil)
	_ gateway.Store = (*memory.Store)(nil)
)

// opener opens a store. Each call of the opener opens the same store.
type opener func(context.Context) (gateway.Store, error)

// sqliteOpener returns an opener of the store in the directory dir.
func sqliteOpener(dir string) opener {
	return func(ctx context.Context) (gateway.Store, error) {
		s, err := store.Open(ctx, store.Options{Path: store.File(dir)})
		if err != nil {
			return nil, err // a nil *Store in this interface would not be nil
		}
		return s, nil
	}
}

// memoryOpener returns an opener that returns the same store in memory each time, as if its data had survived a
// restart.
func memoryOpener() opener {
	m := memory.New()
	return func(context.Context) (gateway.Store, error) { return m, nil }
}

// The SQLite store and the store in memory must behave in the same way: the simulations in gateway/sim use the latter.
func TestSQLite(t *testing.T) {
	t.Parallel()
	template := empty(t)
	suite(t, func(t *testing.T) opener {
		dir := t.TempDir()
		write(t, store.File(dir), template)
		return sqliteOpener(dir)
	})
}

func TestMemory(t *testing.T) {
	t.Parallel()
	suite(t, func(*testing.T) opener { return memoryOpener() })
}

// fixture is the store that a test uses, with methods that check the store's content.
type fixture struct {
	*testing.T
	gateway.Store
	open opener // nil: the store can't be reopened
}

// reopen closes the store and opens it again, as a restart of the daemon does.
func (f *fixture) reopen() {
	f.Helper()
	f.close()
	s, err := f.open(f.Context())
	f.must(err)
	f.Store = s
}

func (f *fixture) close() {
	f.Helper()
	if s, ok := f.Store.(durable); ok {
		f.must(s.Close())
	}
}

// durable is a store that can be closed and opened again, and that can delete expired data.
type durable interface {
	gateway.Store
	Sweep(ctx context.Context, now time.Time, retention time.Duration) (store.Swept, error)
	Close() error
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// fails checks that a call has failed. fails accepts any error, because each kind of store returns different errors.
func (f *fixture) fails(err error) {
	f.Helper()
	if err == nil {
		f.Fatal("got no error, want one")
	}
}

func (f *fixture) is(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("got error %v, want %v", err, want)
	}
}

// accept stores new messages with these ids.
func (f *fixture) accept(c chat.Conversation, ids ...chat.MessageID) {
	f.Helper()
	for _, id := range ids {
		fresh, err := f.Accept(f.Context(), c, message(c, id))
		f.must(err)
		if !fresh {
			f.Fatalf("message %s of %s: got known, want fresh", id, c)
		}
	}
}

// waiting returns the ids of all unfinished messages as "conversation/message", or "conversation/message!" if the
// message belongs to an unfinished turn.
func (f *fixture) waiting() []string {
	f.Helper()
	list := []string{}
	pending, err := f.Pending(f.Context())
	f.must(err)
	for _, p := range pending {
		list = append(list, p.Conversation.String()+"/"+string(p.Message.ID))
	}
	turns, err := f.Unfinished(f.Context())
	f.must(err)
	for _, t := range turns {
		for _, m := range t.Messages {
			if m.ID != "" {
				list = append(list, t.Conversation.String()+"/"+string(m.ID)+"!")
			}
		}
	}
	return list
}

func (f *fixture) waits(want ...string) {
	f.Helper()
	if got := f.waiting(); !slices.Equal(got, want) {
		f.Fatalf("waiting: got %v, want %v", got, want)
	}
}

func (f *fixture) begin(id string, c chat.Conversation, ids ...chat.MessageID) {
	f.Helper()
	f.must(f.Begin(f.Context(), turnOf(id, c, ids...)))
}

// remember stores a turn that adds these entries to a history.
func (f *fixture) remember(c chat.Conversation, entries ...string) {
	f.Helper()
	id := chat.MessageID("remember " + entries[0])
	f.accept(c, id)
	f.begin(string(id), c, id)
	f.must(f.End(f.Context(), string(id), growth(entries...)))
}

// remembers checks that a history consists of exactly these entries.
func (f *fixture) remembers(c chat.Conversation, want ...string) {
	f.Helper()
	_, entries, err := f.Session(f.Context(), c)
	f.must(err)
	got := []string{}
	for _, e := range entries {
		got = append(got, string(e.Body))
	}
	if !slices.Equal(got, want) {
		f.Fatalf("history of %s: got %q, want %q", c, got, want)
	}
}

// unfinished returns the only unfinished turn.
func (f *fixture) unfinished() chat.Turn {
	f.Helper()
	turns, err := f.Unfinished(f.Context())
	f.must(err)
	if len(turns) != 1 {
		f.Fatalf("got %d unfinished turns, want 1: %+v", len(turns), turns)
	}
	return turns[0]
}

func message(c chat.Conversation, id chat.MessageID) chat.Inbound {
	return chat.Inbound{ID: id, To: chat.Target{Chat: c.Chat, Thread: c.Thread}, Text: "text of " + string(id)}
}

// turnOf returns a turn in the form in which Begin expects it.
func turnOf(id string, c chat.Conversation, ids ...chat.MessageID) chat.Turn {
	t := chat.Turn{ID: id, Conversation: c, To: chat.Target{Chat: c.Chat, Thread: c.Thread}, ReplyTo: "r"}
	for _, m := range ids {
		t.Messages = append(t.Messages, message(c, m))
	}
	return t
}

func decision(ending string, history ...string) chat.Decision {
	return chat.Decision{Ending: []byte(ending), Growth: growth(history...)}
}

func growth(history ...string) (g chat.Growth) {
	for _, h := range history {
		g.History = append(g.History, []byte(h))
	}
	return g
}

func private(id chat.ChatID) chat.Conversation { return chat.Conversation{Endpoint: "tg", Chat: id} }

// plain returns a turn in which empty and missing values look the same, and times have the stored precision.
func plain(t chat.Turn) chat.Turn {
	t.Began = t.Began.UTC().Truncate(time.Millisecond)
	if len(t.Ending) == 0 {
		t.Ending = nil
	}
	if len(t.Parts) == 0 {
		t.Parts = nil
	}
	t.Steps = plainSteps(t.Steps)
	return t
}

// suite runs the tests that every store must pass, in virtual time. The function place returns the opener of a new
// store.
func suite(t *testing.T, place func(*testing.T) opener) {
	for _, test := range []struct {
		name string
		run  func(*fixture)
	}{
		{"AcceptKeepsTheWholeMessage_F43", testWholeMessage},
		{"AcceptDropsDuplicates_F43", testDuplicates},
		{"ResumeCursor_F44", testResume},
		{"ResumePlaces_F44", testPlaces},
		{"Drop", testDrop},
		{"TurnIsFinished", testTurn},
		{"DecidedFromTheStart", testDecidedFromTheStart},
		{"RunningTurnIsFoundAndRunAgain_F43", testRerun},
		{"BeginUnknownMessage", testBeginUnknown},
		{"TurnsRunSideBySide", testSideBySide},
		{"NewTurnTakesMessages_F41", testTaken},
		{"TurnWithoutMessagesIsVoid_F41", testRobbed},
		{"EndAddsToTheHistory", testEndHistory},
		{"ForgetFencesTheTurn_F37", testForgetFences},
		{"DecideTwice", testDecideTwice},
		{"ReleasedMessagesWait_F42", testReleased},
		{"EndedTurnTakesNoIntent_F38", testEnded},
		{"PartsAreKept_F17_F18", testParts},
		{"MessagesAreRevised", testRevise},
		{"HistoryIsKept", testHistory},
		{"Blocks", testBlocks},
		{"MoveCarriesAll_F54", testMove},
		{"MoveMerges_F54", testMoveMerges},
		{"MoveCarriesBlocks_F54", testBlocksMove},
		{"MoveAgain_F54", testMoveAgain},
		{"MoveTwiceAndBack_F54", testMoveChain},
		{"MoveKeepsEqualIDsApart_F54", testMoveEqualIDs},
		{"MoveWhileAMessageWaits_F54", testMoveWaiting},
		{"MoveKeepsFences_F54", testMoveFences},
		{"MoveJoinsSessions_F54", testMoveSessions},
		{"EntriesHaveAnAsker", testAsker},
		{"JoinGivesWhatWaits", testJoin},
		{"ChosenModel", testChoose},
		{"CompactionHidesEntries", testCompaction},
		{"UndoDeletesTheNewestTurn", testUndo},
		{"UndoSaysSoInOneStep", testUndoSays},
		{"ReplacedTurnGoes", testReplaces},
		{"ErasePerson", testErase},
		{"UsedIsCountedOnce", testUsed},
		{"PairingRequests", testPairingRequests},
		{"Admitted", testAdmitted},
		{"JournalOfARunningTurn", testNotes},
		{"JournalEndsWithItsTurn", testNotesEnd},
		{"JournalOfATurnThatIsNotCurrent_F37", testNotesFenced},
		{"MoveKeepsTheJournal_F54", testNotesMove},
		{"Consents", testConsents},
		{"ConsentsAreForgotten", testConsentsForgotten},
		{"MoveCarriesConsents_F54", testConsentsMove},
		{"Facts", testFacts},
		{"FactsAreStoredOnce", testFactsOnce},
		{"FactNumbersAreNotUsedAgain", testFactNumbers},
		{"FactsOutlastConversations", testFactsStay},
		{"ExchangesGrowSessions", testExchanges},
		{"ResponsesAreChained", testResponses},
		{"WhatIsGivenIsCopied", testCopies},
		{"ConcurrentUse", testConcurrent},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			open := place(t)
			synctest.Test(t, func(t *testing.T) {
				s, err := open(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				f := &fixture{T: t, Store: s, open: open}
				defer f.close()
				test.run(f)
			})
		})
	}
}

func testWholeMessage(f *fixture) {
	in := chat.Inbound{
		To:     chat.Target{Chat: "-100", Thread: "7", Kind: chat.Group},
		Sender: chat.Sender{ID: "u1", Name: "Zoë 🦊", Bot: true}, ID: "m1", Resume: "42", Kind: chat.Button, Action: "stop:1", MovedTo: "-1001",
		Text: "line\nwith \"quotes\", a zero \x00 and ünïcode", Command: "new", Args: "a b", Addressed: true, Reply: true, More: true, Missed: true, Unattended: true, Origin: chat.Forwarded,
		Author: "Ann", Follows: true, Quotes: []chat.Quote{{Author: "Bob", Own: true, Text: "q", Part: true, Hidden: true, Attachments: []chat.Attachment{{ID: "g"}}}},
		Attachments: []chat.Attachment{{Name: "a.ogg", MediaType: "audio/ogg", Size: 1 << 40, ID: "f"}},
		At:          time.Date(2026, 5, 6, 7, 8, 9, 123456789, time.UTC),
	}
	for field, value := range reflect.ValueOf(in).Fields() {
		if value.IsZero() {
			f.Fatalf("chat.Inbound.%s is not set, so it is not tested", field.Name)
		}
	}
	began := time.Now()
	c := chat.Conversation{Endpoint: "tg", Chat: "-100", Thread: "7"}
	fresh, err := f.Accept(f.Context(), c, in)
	f.must(err)
	if !fresh {
		f.Fatal("got known, want fresh")
	}
	time.Sleep(time.Hour)
	f.reopen()
	pending, err := f.Pending(f.Context())
	f.must(err)
	if len(pending) != 1 || !pending[0].Accepted.Equal(began) {
		f.Fatalf("got %+v, want one, accepted at %v", pending, began)
	}
	want := chat.Pending{Conversation: c, Message: in, Accepted: pending[0].Accepted}
	if !reflect.DeepEqual(pending[0], want) {
		f.Fatalf("got %+v, want %+v", pending[0], want)
	}
	f.must(f.Begin(f.Context(), chat.Turn{ID: "t", Conversation: c, To: in.To, Messages: []chat.Inbound{in}}))
	f.reopen()
	if got := f.unfinished().Messages; !reflect.DeepEqual(got, []chat.Inbound{in}) {
		f.Fatalf("got %+v, want the whole message", got)
	}
}

func testDuplicates(f *fixture) {
	c, other := private("1"), chat.Conversation{Endpoint: "tg", Chat: "1", Thread: "t"}
	f.accept(c, "5", "6")
	f.accept(other, "5")
	f.accept(chat.Conversation{Endpoint: "tg2", Chat: "1"}, "5")
	f.begin("t1", c, "5")
	f.must(f.End(f.Context(), "t1", chat.Growth{}))
	time.Sleep(7 * 24 * time.Hour)
	if s, ok := f.Store.(durable); ok {
		_, err := s.Sweep(f.Context(), time.Now(), time.Hour)
		f.must(err)
	}
	f.reopen()
	for _, id := range []chat.MessageID{"5", "6"} {
		fresh, err := f.Accept(f.Context(), c, message(c, id))
		f.must(err)
		if fresh {
			f.Errorf("message %s: got fresh, want known", id)
		}
	}
	f.waits("tg:1/6", "tg:1:t/5", "tg2:1/5")
}

func testResume(f *fixture) {
	c := private("1")
	for _, step := range []struct {
		id     chat.MessageID
		resume string
		want   string
	}{
		{"1", "", ""},
		{"2", "102", "102"},
		{"3", "", "102"},
		{"4", "104", "104"},
		{"2", "105", "105"}, // a message that is accepted twice must also advance the cursor
	} {
		in := message(c, step.id)
		in.Resume = step.resume
		_, err := f.Accept(f.Context(), c, in)
		f.must(err)
		f.reopen()
		got, err := f.Resume(f.Context(), "tg")
		f.must(err)
		if got.Cursor != step.want {
			f.Errorf("after message %s with cursor %q: got %q, want %q", step.id, step.resume, got.Cursor, step.want)
		}
	}
	if got, err := f.Resume(f.Context(), "other"); got.Cursor != "" || len(got.Places) > 0 || err != nil {
		f.Errorf("other endpoint: got %+v, %v, want none", got, err)
	}
}

// testPlaces checks the list of places in which turns began. testPlaces checks that each place is listed once, the
// newest first, even after the turns have ended.
func testPlaces(f *fixture) {
	one, two := private("1"), chat.Conversation{Endpoint: "tg", Chat: "2", Thread: "t"}
	for i, c := range []chat.Conversation{one, two, one, {Endpoint: "other", Chat: "3"}} {
		id := strconv.Itoa(i)
		f.accept(c, chat.MessageID(id))
		f.begin(id, c, chat.MessageID(id))
		f.must(f.End(f.Context(), id, chat.Growth{}))
		time.Sleep(2 * time.Millisecond) // virtual time, so that the stored milliseconds differ
	}
	f.reopen()
	from, err := f.Resume(f.Context(), "tg")
	f.must(err)
	want := []chat.Target{{Chat: "1"}, {Chat: "2", Thread: "t"}}
	if !slices.Equal(from.Places, want) {
		f.Errorf("got %+v, want %+v", from.Places, want)
	}
}

func testDrop(f *fixture) {
	c := private("1")
	f.accept(c, "1", "2", "3")
	f.begin("t", c, "1")
	f.must(f.Drop(f.Context(), c, "1", "2", "9"))
	f.waits("tg:1/3", "tg:1/1!")
	f.must(f.Drop(f.Context(), private("unheard of"), "1"))
	f.must(f.Drop(f.Context(), c))
	f.must(f.Release(f.Context(), "t"))
	f.waits("tg:1/1", "tg:1/3")
}

func testTurn(f *fixture) {
	c, start := private("1"), time.Now()
	f.accept(c, "1")
	time.Sleep(time.Second)
	f.accept(c, "2")
	time.Sleep(time.Second)
	f.begin("t", c, "2", "1")
	time.Sleep(time.Second)
	f.must(f.Decide(f.Context(), "t", decision("final", "q", "a")))
	f.reopen()
	want := turnOf("t", c, "1", "2")
	want.State, want.Runs, want.Began, want.Ending = chat.TurnDecided, 1, start, []byte("final")
	if got := plain(f.unfinished()); !reflect.DeepEqual(got, plain(want)) {
		f.Fatalf("got %+v, want %+v", got, want)
	}
	f.remembers(c, "q", "a")
	f.waits("tg:1/1!", "tg:1/2!")
	f.must(f.End(f.Context(), "t", chat.Growth{}))
	f.must(f.End(f.Context(), "t", chat.Growth{}))
	f.must(f.Release(f.Context(), "t"))
	f.waits()
	if turns, err := f.Unfinished(f.Context()); err != nil || len(turns) > 0 {
		f.Fatalf("got %+v, %v, want none", turns, err)
	}
}

// The answer to a command is known before its turn begins. Begin must store this answer, because no model call follows.
func testDecidedFromTheStart(f *fixture) {
	c := private("1")
	f.accept(c, "1")
	turn := turnOf("t", c, "1")
	turn.Ending = []byte("known")
	f.must(f.Begin(f.Context(), turn))
	f.reopen()
	if got := f.unfinished(); got.State != chat.TurnDecided || string(got.Ending) != "known" {
		f.Fatalf("got %+v, want it decided", got)
	}
	f.fails(f.Begin(f.Context(), turn))
	f.fails(f.Release(f.Context(), "t"))
	f.must(f.Forget(f.Context(), c))
	if got := f.unfinished(); got.Void {
		f.Fatalf("got %+v, want it delivered all the same", got)
	}
	f.must(f.End(f.Context(), "t", chat.Growth{}))
	f.waits()
}

// The store must count how often a turn that answers a message has begun. A run that was released must not count in
// this number.
func testRerun(f *fixture) {
	c := private("1")
	f.accept(c, "1")
	for run := 1; run <= 3; run++ {
		f.begin("t", c, "1")
		f.reopen()
		if got := f.unfinished(); got.Runs != run || got.State != chat.TurnRunning || got.Void {
			f.Fatalf("got %+v, want running, run %d", got, run)
		}
	}
	f.must(f.Release(f.Context(), "t"))
	pending, err := f.Pending(f.Context())
	f.must(err)
	if len(pending) != 1 || pending[0].Begun != 2 { // 2, not 3, because the third run was released
		f.Fatalf("got %+v, want message 1, begun twice", pending)
	}
	f.begin("t2", c, "1")
	f.must(f.Decide(f.Context(), "t2", decision("x")))
	f.fails(f.Begin(f.Context(), turnOf("t2", c, "1")))
	f.must(f.End(f.Context(), "t2", chat.Growth{}))
	f.fails(f.Begin(f.Context(), turnOf("t2", c, "1")))
}

func testBeginUnknown(f *fixture) {
	c := private("1")
	f.accept(c, "1", "2")
	f.fails(f.Begin(f.Context(), turnOf("t", c, "1", "9")))
	f.fails(f.Begin(f.Context(), turnOf("t", c, "1", "1")))
	f.waits("tg:1/1", "tg:1/2") // after the failed calls, no turn may be stored
	f.must(f.Drop(f.Context(), c, "2"))
	f.fails(f.Begin(f.Context(), turnOf("t", c, "2")))
	f.fails(f.Decide(f.Context(), "t", decision("x")))
	f.fails(f.End(f.Context(), "t", chat.Growth{}))
	f.fails(f.Release(f.Context(), "t"))
	f.fails(f.Record(f.Context(), "t", chat.Part{}))
	f.fails(f.Record(f.Context(), "t", chat.Part{State: chat.PartIntended}))
	f.waits("tg:1/1")
}

// A turn answers a command while another turn calls the model. Neither of the two turns may take messages from the
// other.
func testSideBySide(f *fixture) {
	c := private("1")
	f.accept(c, "1", "2")
	f.begin("model", c, "1")
	time.Sleep(time.Second)
	f.begin("command", c, "2")
	f.begin("model", c) // the turn begins again while the command's turn runs
	f.reopen()
	turns, err := f.Unfinished(f.Context())
	f.must(err)
	if len(turns) != 2 || turns[0].ID != "model" || turns[0].Void || turns[1].Void {
		f.Fatalf("got %+v, want two turns, the oldest first, none void", turns)
	}
	f.must(f.End(f.Context(), "command", growth("command")))
	f.waits("tg:1/1!")
	f.must(f.Decide(f.Context(), "model", decision("x", "model")))
	f.must(f.End(f.Context(), "model", chat.Growth{}))
	f.waits()
	f.remembers(c, "command", "model")
}

// testTaken begins a turn that answers a message of a running turn together with a newer message. This message must
// then belong to the new turn. The old turn must still be able to end.
func testTaken(f *fixture) {
	c := private("1")
	f.accept(c, "1", "2", "3")
	f.begin("old", c, "1", "2")
	time.Sleep(time.Second)
	f.begin("new", c, "1", "3") // this call takes message 1 from the turn "old"
	f.must(f.Record(f.Context(), "old", chat.Part{State: chat.PartStands, Text: "kept"}))
	f.must(f.End(f.Context(), "old", growth("begun")))
	f.waits("tg:1/1!", "tg:1/3!") // the turn "old" has ended, and message 2 with it; message 1 belongs to the turn "new"
	if got := f.unfinished(); got.ID != "new" {
		f.Fatalf("got %+v, want new", got)
	}
	f.must(f.Release(f.Context(), "new"))
	f.waits("tg:1/1", "tg:1/3")
	f.remembers(c, "begun")
}

// Another turn has taken all messages of a turn. The old turn must then be void: it must answer nothing, and only clean
// up the messages that it has sent.
func testRobbed(f *fixture) {
	c := private("1")
	f.accept(c, "1")
	f.begin("old", c, "1")
	part := chat.Part{State: chat.PartStands, Ref: chat.MessageRef{ID: "9"}, Text: "shown ▌", Cursor: true}
	f.must(f.Record(f.Context(), "old", part))
	time.Sleep(time.Second)
	f.begin("new", c, "1")
	f.reopen()
	turns, err := f.Unfinished(f.Context())
	f.must(err)
	if len(turns) != 2 || turns[0].ID != "old" || !turns[0].Void || turns[1].Void {
		f.Fatalf("got %+v, want the old turn void and the new one not", turns)
	}
	if got := turns[0].Messages; len(got) != 0 {
		f.Errorf("the old turn answers %+v, want nothing", got)
	}
	if got := turns[0].Parts; len(got) != 1 || !reflect.DeepEqual(got[0], part) {
		f.Errorf("got %+v, want %+v", got, part)
	}
	f.must(f.End(f.Context(), "old", chat.Growth{}))
	f.waits("tg:1/1!")
}

func testEndHistory(f *fixture) {
	c := private("1")
	f.accept(c, "1", "2", "3", "4")
	for _, end := range []struct {
		message chat.MessageID
		forget  bool // the test deletes the history while the turn runs
		decide  bool
		history []string
		want    []string // the whole history after the turn
	}{
		{message: "1", history: []string{"q1", "a1"}, want: []string{"q1", "a1"}},
		{message: "2", decide: true, history: []string{"note"}, want: []string{"q1", "a1", "decided", "note"}},
		{message: "3", want: []string{"q1", "a1", "decided", "note"}},
		{message: "4", forget: true, history: []string{"late"}},
	} {
		turn := "t" + string(end.message)
		f.begin(turn, c, end.message)
		if end.decide {
			f.must(f.Decide(f.Context(), turn, decision("x", "decided")))
		}
		if end.forget {
			f.must(f.Forget(f.Context(), c))
		}
		for range 2 { // call twice, because a caller repeats a call whose outcome is unknown
			f.must(f.End(f.Context(), turn, growth(end.history...)))
		}
		f.reopen()
		f.remembers(c, end.want...)
	}
	f.waits()
}

func testForgetFences(f *fixture) {
	c := private("1")
	f.remember(c, "before")
	f.accept(c, "1", "2")
	f.begin("t", c, "1")
	f.must(f.Forget(f.Context(), c))
	f.fails(f.Decide(f.Context(), "t", decision("late", "late")))
	f.remembers(c)
	f.reopen()
	if got := f.unfinished(); !got.Void || got.State != chat.TurnRunning {
		f.Fatalf("got %+v, want running and void", got)
	}
	f.fails(f.Begin(f.Context(), turnOf("t", c, "1")))
	f.must(f.End(f.Context(), "t", growth("late")))
	f.begin("t2", c, "2")
	f.must(f.Decide(f.Context(), "t2", decision("x", "after")))
	f.remembers(c, "after")
}

func testDecideTwice(f *fixture) {
	c := private("1")
	f.accept(c, "1")
	f.begin("t", c, "1")
	for range 2 {
		f.must(f.Decide(f.Context(), "t", decision("x", "once")))
	}
	f.must(f.Forget(f.Context(), c)) // must not affect the turn, because its result is already stored
	f.must(f.Decide(f.Context(), "t", decision("y", "twice")))
	f.remembers(c)
	if got := f.unfinished(); string(got.Ending) != "x" || got.Void {
		f.Errorf("got %+v, want the first decision", got)
	}
	f.must(f.Cut(f.Context(), "t", []byte("cut")))
	f.reopen()
	if got := f.unfinished(); string(got.Ending) != "cut" || got.State != chat.TurnDecided {
		f.Errorf("got %+v, want it cut", got)
	}
	f.must(f.End(f.Context(), "t", chat.Growth{}))
	f.must(f.Cut(f.Context(), "t", []byte("late")))
	f.fails(f.Decide(f.Context(), "t", decision("z")))
}

func testReleased(f *fixture) {
	c := private("1")
	f.accept(c, "1", "2")
	f.begin("t", c, "1")
	f.must(f.Release(f.Context(), "t"))
	f.waits("tg:1/1", "tg:1/2")
	pending, err := f.Pending(f.Context())
	f.must(err)
	if pending[0].Begun != 0 {
		f.Errorf("got %+v, want as if not begun", pending[0])
	}
	f.begin("t2", c, "1", "2")
	f.must(f.Decide(f.Context(), "t2", decision("x")))
	f.fails(f.Release(f.Context(), "t2"))
	f.must(f.End(f.Context(), "t2", chat.Growth{}))
	f.must(f.Release(f.Context(), "t2"))
	f.waits()
}

func testEnded(f *fixture) {
	c := private("1")
	f.accept(c, "1")
	f.begin("t", c, "1")
	f.must(f.Record(f.Context(), "t", chat.Part{State: chat.PartIntended, Key: "k"}))
	f.must(f.End(f.Context(), "t", chat.Growth{}))
	f.fails(f.Record(f.Context(), "t", chat.Part{Index: 1, State: chat.PartIntended}))
	f.must(f.Record(f.Context(), "t", chat.Part{State: chat.PartGone, Key: "k"}))
}
