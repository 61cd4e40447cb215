package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store"
)

// backend is what the suite tests: a store in one database or another.
type backend interface {
	Accept(context.Context, chat.Conversation, chat.Inbound) (bool, error)
	Resume(context.Context, chat.EndpointID) (string, error)
	Drop(context.Context, chat.Conversation, ...chat.MessageID) error
	Pending(context.Context) ([]store.Pending, error)
	Begin(context.Context, store.TurnRecord) error
	Decide(context.Context, string, store.Decision) error
	End(context.Context, string, store.TurnState, ...[]byte) error
	Unfinished(context.Context) ([]store.TurnRecord, error)
	Intend(context.Context, string, store.Part) error
	Record(context.Context, string, store.Part) error
	Parts(context.Context, string) ([]store.Part, error)
	History(context.Context, chat.Conversation) ([][]byte, error)
	Append(context.Context, chat.Conversation, ...[]byte) error
	Forget(context.Context, chat.Conversation) error
	SaveBlock(context.Context, chat.EndpointID, chat.Scope, chat.ChatID, chat.MessageID, time.Time) error
	Blocks(context.Context, chat.EndpointID) ([]store.Block, error)
	Move(context.Context, chat.EndpointID, chat.ChatID, chat.ChatID) error
	Moved(context.Context, chat.EndpointID, chat.ChatID) (chat.ChatID, bool, error)
	Sweep(context.Context, time.Time, time.Duration) (store.Swept, error)
	Check(context.Context) (store.Report, error)
	Backup(context.Context, string) error
	Close() error
}

// clock is a time that a test sets. Its zero value stands at one fixed instant.
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

// opener opens the same store again and again.
type opener func(context.Context) (backend, error)

func sqliteOpener(dir string, c *clock) opener {
	return func(ctx context.Context) (backend, error) {
		s, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, "telex.db"), Now: c.now})
		if err != nil {
			return nil, err // not a backend that holds a nil store
		}
		return s, nil
	}
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	suite(t, func(t *testing.T, c *clock) opener { return sqliteOpener(t.TempDir(), c) })
}

// fixture is one test's store.
type fixture struct {
	*testing.T
	backend
	clock *clock
	open  opener
}

// reopen closes the store and opens it again, as a restart does.
func (f *fixture) reopen() {
	f.Helper()
	f.must(f.Close())
	b, err := f.open(f.Context())
	f.must(err)
	f.backend = b
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) is(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("got error %v, want %v", err, want)
	}
}

// accept stores messages that are new.
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

// waiting returns "conversation/message" of what is pending, "!" at what a turn has.
func (f *fixture) waiting() []string {
	f.Helper()
	pending, err := f.Pending(f.Context())
	f.must(err)
	list := []string{}
	for _, p := range pending {
		mark := ""
		if p.Turn != "" {
			mark = "!"
		}
		list = append(list, p.Conversation.String()+"/"+string(p.Inbound.ID)+mark)
	}
	return list
}

func (f *fixture) waits(want ...string) {
	f.Helper()
	if got := f.waiting(); !slices.Equal(got, want) {
		f.Fatalf("pending: got %v, want %v", got, want)
	}
}

func (f *fixture) begin(id string, c chat.Conversation, ids ...chat.MessageID) {
	f.Helper()
	f.must(f.Begin(f.Context(), turnOf(id, c, ids...)))
}

// remembers compares a history.
func (f *fixture) remembers(c chat.Conversation, want ...string) {
	f.Helper()
	entries, err := f.History(f.Context(), c)
	f.must(err)
	got := []string{}
	for _, e := range entries {
		got = append(got, string(e))
	}
	if !slices.Equal(got, want) {
		f.Fatalf("history of %s: got %q, want %q", c, got, want)
	}
}

// unfinished returns the only unfinished turn.
func (f *fixture) unfinished() store.TurnRecord {
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

func turnOf(id string, c chat.Conversation, ids ...chat.MessageID) store.TurnRecord {
	return store.TurnRecord{ID: id, Conversation: c, Messages: ids, To: chat.Target{Chat: c.Chat, Thread: c.Thread}, ReplyTo: "r"}
}

func decision(ending string, history ...string) store.Decision {
	d := store.Decision{Ending: []byte(ending), Usage: []byte(`{"prompt":1}`)}
	for _, h := range history {
		d.History = append(d.History, []byte(h))
	}
	return d
}

func private(id chat.ChatID) chat.Conversation { return chat.Conversation{Endpoint: "tg", Chat: id} }

// suite is what every backend must do; make returns where a test's store is.
func suite(t *testing.T, place func(*testing.T, *clock) opener) {
	for _, test := range []struct {
		name string
		run  func(*fixture)
	}{
		{"AcceptKeepsTheWholeMessage_F43", testWholeMessage},
		{"AcceptDropsDuplicates_F43", testDuplicates},
		{"ResumeCursor_F44", testResume},
		{"Drop", testDrop},
		{"TurnIsFinished", testTurn},
		{"RunningTurnIsFoundAndRunAgain_F43", testRerun},
		{"BeginUnknownMessage", testBeginUnknown},
		{"TurnsRunSideBySide", testSideBySide},
		{"NewTurnTakesMessages_F41", testTaken},
		{"EndAddsToTheHistory", testEndHistory},
		{"ForgetFencesTheTurn_F37", testForgetFences},
		{"DecideTwice", testDecideTwice},
		{"ReleasedMessagesWait_F42", testReleased},
		{"EndedTurnTakesNoIntent_F38", testEnded},
		{"PartsAreKept_F17_F18", testParts},
		{"TextsAreRemoved", testPrivacy},
		{"HistoryIsKept", testHistory},
		{"Blocks", testBlocks},
		{"MoveCarriesAll_F54", testMove},
		{"MoveMerges_F54", testMoveMerges},
		{"MoveTwiceAndBack_F54", testMoveChain},
		{"MoveKeepsEqualIDsApart_F54", testMoveEqualIDs},
		{"Sweep", testSweep},
		{"BackupIsAStore", testBackup},
		{"ConcurrentUse", testConcurrent},
		{"CancelledContext", testCancelled},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := &clock{}
			open := place(t, c)
			b, err := open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			f := &fixture{T: t, backend: b, clock: c, open: open}
			defer func() { f.must(f.Close()) }()
			test.run(f)
		})
	}
}

func testWholeMessage(f *fixture) {
	in := chat.Inbound{
		To:     chat.Target{Chat: "-100", Thread: "7", Kind: chat.Group},
		Sender: chat.Sender{ID: "u1", Name: "Zoë 🦊", Bot: true}, ID: "m1", Resume: "42", Kind: chat.Button,
		Text: "line\nwith \"quotes\", a zero \x00 and ünïcode", Command: "new", Args: "a b", Addressed: true, Reply: true,
		Attachments: []chat.Attachment{{Name: "a.ogg", MediaType: "audio/ogg", Size: 1 << 40, ID: "f"}},
		At:          time.Date(2026, 5, 6, 7, 8, 9, 123456789, time.UTC),
	}
	for field, value := range reflect.ValueOf(in).Fields() {
		if value.IsZero() {
			f.Fatalf("chat.Inbound.%s is not set, so it is not tested", field.Name)
		}
	}
	c := chat.Conversation{Endpoint: "tg", Chat: "-100", Thread: "7"}
	fresh, err := f.Accept(f.Context(), c, in)
	f.must(err)
	if !fresh {
		f.Fatal("got known, want fresh")
	}
	f.clock.advance(time.Hour)
	f.reopen()
	pending, err := f.Pending(f.Context())
	f.must(err)
	want := []store.Pending{{Conversation: c, Inbound: in, AcceptedAt: f.clock.now().Add(-time.Hour)}}
	if !reflect.DeepEqual(pending, want) {
		f.Fatalf("got %+v, want %+v", pending, want)
	}
}

func testDuplicates(f *fixture) {
	c, other := private("1"), chat.Conversation{Endpoint: "tg", Chat: "1", Thread: "t"}
	f.accept(c, "5", "6")
	f.accept(other, "5")
	f.accept(chat.Conversation{Endpoint: "tg2", Chat: "1"}, "5")
	f.begin("t1", c, "5")
	f.must(f.End(f.Context(), "t1", store.Done))
	f.clock.advance(7 * 24 * time.Hour)
	_, err := f.Sweep(f.Context(), f.clock.now(), time.Hour)
	f.must(err)
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
		{"2", "105", "105"}, // a duplicate moves it on
	} {
		in := message(c, step.id)
		in.Resume = step.resume
		_, err := f.Accept(f.Context(), c, in)
		f.must(err)
		f.reopen()
		got, err := f.Resume(f.Context(), "tg")
		f.must(err)
		if got != step.want {
			f.Errorf("after message %s with cursor %q: got %q, want %q", step.id, step.resume, got, step.want)
		}
	}
	if got, err := f.Resume(f.Context(), "other"); got != "" || err != nil {
		f.Errorf("other endpoint: got %q, %v, want none", got, err)
	}
}

func testDrop(f *fixture) {
	c := private("1")
	f.accept(c, "1", "2", "3")
	f.begin("t", c, "1")
	f.must(f.Drop(f.Context(), c, "1", "2", "9"))
	f.waits("tg:1/1!", "tg:1/3")
	f.must(f.Drop(f.Context(), private("unheard of"), "1"))
	f.must(f.Drop(f.Context(), c))
}

func testTurn(f *fixture) {
	c := private("1")
	f.accept(c, "1")
	f.clock.advance(time.Second)
	f.accept(c, "2")
	f.clock.advance(time.Second)
	f.begin("t", c, "2", "1")
	f.clock.advance(time.Second)
	f.must(f.Decide(f.Context(), "t", decision("final", "q", "a")))
	f.reopen()
	start := f.clock.now().Add(-3 * time.Second)
	want := turnOf("t", c, "1", "2")
	want.State, want.Runs, want.AcceptedAt, want.BegunAt = store.Decided, 1, start, start.Add(2*time.Second)
	want.Ending, want.Usage = []byte("final"), []byte(`{"prompt":1}`)
	if got := f.unfinished(); !reflect.DeepEqual(got, want) {
		f.Fatalf("got %+v, want %+v", got, want)
	}
	f.remembers(c, "q", "a")
	f.waits("tg:1/1!", "tg:1/2!")
	f.must(f.End(f.Context(), "t", store.Done))
	f.must(f.End(f.Context(), "t", store.Closed))
	f.waits()
	if turns, err := f.Unfinished(f.Context()); err != nil || len(turns) > 0 {
		f.Fatalf("got %+v, %v, want none", turns, err)
	}
}

// A message that crashes the process three times is seen to.
func testRerun(f *fixture) {
	c := private("1")
	f.accept(c, "1")
	for run := 1; run <= 3; run++ {
		f.begin("t", c, "1")
		f.reopen()
		if got := f.unfinished(); got.Runs != run || got.State != store.Running || got.Fenced {
			f.Fatalf("got %+v, want running, run %d", got, run)
		}
		pending, err := f.Pending(f.Context())
		f.must(err)
		if len(pending) != 1 || pending[0].Attempts != run || pending[0].Turn != "t" {
			f.Fatalf("got %+v, want message 1, attempt %d, of turn t", pending, run)
		}
	}
	f.must(f.Decide(f.Context(), "t", decision("x")))
	f.is(f.Begin(f.Context(), turnOf("t", c, "1")), store.ErrFenced)
	f.must(f.End(f.Context(), "t", store.Closed))
	f.is(f.Begin(f.Context(), turnOf("t", c, "1")), store.ErrFenced)
}

func testBeginUnknown(f *fixture) {
	c := private("1")
	f.accept(c, "1", "2")
	f.is(f.Begin(f.Context(), turnOf("t", c, "1", "9")), store.ErrUnknown)
	f.is(f.Begin(f.Context(), turnOf("t", c, "1", "1")), store.ErrUnknown)
	f.waits("tg:1/1", "tg:1/2") // nothing of it was stored
	f.must(f.Drop(f.Context(), c, "2"))
	f.is(f.Begin(f.Context(), turnOf("t", c, "2")), store.ErrUnknown)
	f.is(f.Decide(f.Context(), "t", decision("x")), store.ErrUnknown)
	f.is(f.End(f.Context(), "t", store.Done), store.ErrUnknown)
	f.is(f.Intend(f.Context(), "t", store.Part{}), store.ErrUnknown)
	f.is(f.Record(f.Context(), "t", store.Part{}), store.ErrUnknown)
	if err := f.End(f.Context(), "t", store.Running); err == nil {
		f.Error("a turn ended as running")
	}
	f.begin("retry", c) // a turn without a message of its own
	if got := f.unfinished(); len(got.Messages) > 0 || !got.AcceptedAt.Equal(f.clock.now()) {
		f.Errorf("got %+v, want no messages, accepted now", got)
	}
}

// A command is answered beside the model's turn, and neither takes anything from the other.
func testSideBySide(f *fixture) {
	c := private("1")
	f.accept(c, "1", "2")
	f.begin("model", c, "1")
	f.begin("command", c, "2")
	f.begin("model", c) // run again beside it
	f.reopen()
	turns, err := f.Unfinished(f.Context())
	f.must(err)
	if len(turns) != 2 || turns[0].Fenced || turns[1].Fenced {
		f.Fatalf("got %+v, want two turns, none fenced", turns)
	}
	f.must(f.End(f.Context(), "command", store.Done, []byte("command")))
	f.waits("tg:1/1!")
	f.must(f.Decide(f.Context(), "model", decision("x", "model")))
	f.must(f.End(f.Context(), "model", store.Done))
	f.waits()
	f.remembers(c, "command", "model")
}

// A turn that answers what another one began with has those messages; the other keeps its right to decide.
func testTaken(f *fixture) {
	c := private("1")
	f.accept(c, "1", "2", "3")
	f.begin("old", c, "1", "2")
	f.begin("new", c, "1", "3") // answered together with the message that came
	f.must(f.Record(f.Context(), "old", store.Part{State: store.Stands, Text: "kept"}))
	f.must(f.End(f.Context(), "old", store.Done, []byte("begun")))
	f.waits("tg:1/1!", "tg:1/3!") // what it had left is finished, what was taken is not
	if got := f.unfinished(); got.ID != "new" || !slices.Equal(got.Messages, []chat.MessageID{"1", "3"}) {
		f.Fatalf("got %+v, want new with messages 1 and 3", got)
	}
	f.must(f.End(f.Context(), "new", store.Released))
	f.waits("tg:1/1", "tg:1/3")
	f.remembers(c, "begun")
}

func testEndHistory(f *fixture) {
	c := private("1")
	f.accept(c, "1", "2", "3", "4", "5")
	for _, end := range []struct {
		message chat.MessageID
		as      store.TurnState
		forget  bool // while the turn runs
		decide  bool
		history []string
		want    []string // all that is in the history then
	}{
		{message: "1", as: store.Done, history: []string{"q1", "a1"}, want: []string{"q1", "a1"}},
		{message: "2", as: store.Closed, decide: true, history: []string{"note"}, want: []string{"q1", "a1", "decided", "note"}},
		{message: "3", as: store.Done, want: []string{"q1", "a1", "decided", "note"}},
		{message: "4", as: store.Done, forget: true, history: []string{"late"}},
		{message: "5", as: store.Released, history: []string{"begun"}, want: []string{"begun"}},
	} {
		turn := "t" + string(end.message)
		f.begin(turn, c, end.message)
		if end.decide {
			f.must(f.Decide(f.Context(), turn, decision("x", "decided")))
		}
		if end.forget {
			f.must(f.Forget(f.Context(), c))
		}
		var history [][]byte
		for _, h := range end.history {
			history = append(history, []byte(h))
		}
		for range 2 { // a call of unknown outcome is repeated
			f.must(f.End(f.Context(), turn, end.as, history...))
		}
		f.reopen()
		f.remembers(c, end.want...)
	}
	f.waits("tg:1/5")
	f.is(f.End(f.Context(), "none", store.Done, []byte("x")), store.ErrUnknown)
	f.begin("decided", c, "5")
	f.must(f.Decide(f.Context(), "decided", decision("x")))
	f.is(f.End(f.Context(), "decided", store.Released, []byte("x")), store.ErrFenced)
	f.remembers(c, "begun")
}

func testForgetFences(f *fixture) {
	c := private("1")
	f.must(f.Append(f.Context(), c, []byte("before")))
	f.accept(c, "1", "2")
	f.begin("t", c, "1")
	f.must(f.Forget(f.Context(), c))
	f.is(f.Decide(f.Context(), "t", decision("late", "late")), store.ErrFenced)
	f.remembers(c)
	f.reopen()
	if got := f.unfinished(); !got.Fenced || got.State != store.Running {
		f.Fatalf("got %+v, want running and fenced", got)
	}
	f.is(f.Begin(f.Context(), turnOf("t", c, "1")), store.ErrFenced)
	f.must(f.End(f.Context(), "t", store.Closed, []byte("late")))
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
	f.must(f.Forget(f.Context(), c)) // a decided turn is delivered all the same
	f.must(f.Decide(f.Context(), "t", decision("y", "twice")))
	f.remembers(c)
	if got := f.unfinished(); string(got.Ending) != "x" || got.Fenced {
		f.Errorf("got %+v, want the first decision", got)
	}
	f.must(f.End(f.Context(), "t", store.Done))
	f.is(f.Decide(f.Context(), "t", decision("z")), store.ErrFenced)
}

func testReleased(f *fixture) {
	c := private("1")
	f.accept(c, "1", "2")
	f.begin("t", c, "1")
	f.must(f.End(f.Context(), "t", store.Released))
	f.waits("tg:1/1", "tg:1/2")
	pending, err := f.Pending(f.Context())
	f.must(err)
	if pending[0].Attempts != 0 || pending[0].Turn != "" {
		f.Errorf("got %+v, want as if not begun", pending[0])
	}
	f.begin("t2", c, "1", "2")
	f.must(f.Decide(f.Context(), "t2", decision("x")))
	f.is(f.End(f.Context(), "t2", store.Released), store.ErrFenced)
	f.must(f.End(f.Context(), "t2", store.Done))
	f.must(f.End(f.Context(), "t2", store.Released))
	f.waits()
}

func testEnded(f *fixture) {
	c := private("1")
	f.accept(c, "1")
	f.begin("t", c, "1")
	f.must(f.Intend(f.Context(), "t", store.Part{Key: "k"}))
	f.must(f.End(f.Context(), "t", store.Done))
	f.is(f.Intend(f.Context(), "t", store.Part{Index: 1}), store.ErrFenced)
	late := store.Part{State: store.Gone, Ref: chat.MessageRef{ID: "m"}, Text: "not kept", Key: "k"}
	f.must(f.Record(f.Context(), "t", late))
	late.Text = ""
	parts, err := f.Parts(f.Context(), "t")
	f.must(err)
	if want := []store.Part{late}; !reflect.DeepEqual(parts, want) {
		f.Errorf("got %+v, want %+v", parts, want)
	}
}
