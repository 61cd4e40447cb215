package store_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"telex/internal/chat"
)

// group and thread are conversations of a chat that later gets the chat id of supergroup.
func group() chat.Conversation { return private("-1") }

func thread() chat.Conversation     { return chat.Conversation{Endpoint: "tg", Chat: "-1", Thread: "9"} }
func supergroup() chat.Conversation { return private("-1001") }

func testMove(f *fixture) {
	ctx := f.Context()
	in := message(group(), "1")
	in.Reply = true
	_, err := f.Accept(ctx, group(), in)
	f.must(err)
	f.accept(group(), "2")
	f.accept(thread(), "3")
	f.remember(group(), "said")
	f.begin("t", group(), "2")
	ref := chat.MessageRef{ID: "55", Target: chat.Target{Chat: "-1"}}
	f.must(f.Record(ctx, "t", chat.Part{State: chat.PartStands, Ref: ref}))
	f.must(f.Move(ctx, "tg", "-1", "-1001"))
	f.must(f.Move(ctx, "tg", "-1", "-1001")) // record the move again, because both a failed call and an update report it
	f.must(f.Move(ctx, "other", "-1", "-2"))
	f.reopen()

	f.waits("tg:-1001/1", "tg:-1001:9/3", "tg:-1001/2!")
	pending, err := f.Pending(ctx)
	f.must(err)
	if got := pending[0].Message; got.To.Chat != "-1001" || got.Reply {
		f.Errorf("got %+v, want it answered in the new chat, without reference", got)
	}
	got := f.unfinished()
	if got.To.Chat != "-1001" || got.ReplyTo != "" || got.Conversation != supergroup() || got.Messages[0].To.Chat != "-1001" {
		f.Errorf("got %+v, want the turn in the new chat, without reference", got)
	}
	if want := []chat.Part{{State: chat.PartStands, Ref: ref}}; !reflect.DeepEqual(got.Parts, want) {
		f.Errorf("got %+v, want the message where it stands: %+v", got.Parts, want)
	}
	f.remembers(supergroup(), "said")

	// Calls with the old id must apply to the new chat.
	f.must(f.Decide(ctx, "t", decision("x", "answered")))
	f.remember(group(), "more")
	f.remembers(group(), "said", "answered", "more")
	f.must(f.Drop(ctx, group(), "1"))
	f.accept(group(), "4")
	f.waits("tg:-1001:9/3", "tg:-1001/4", "tg:-1001/2!")
	if fresh, err := f.Accept(ctx, group(), in); fresh || err != nil {
		f.Errorf("old message again: got %v, %v, want known", fresh, err)
	}
	moves, err := f.Moves(ctx)
	f.must(err)
	if want := []chat.Move{{Endpoint: "other", From: "-1", To: "-2"}, {Endpoint: "tg", From: "-1", To: "-1001"}}; !slices.Equal(moves, want) {
		f.Errorf("got moves %+v, want %+v", moves, want)
	}
	for c, want := range map[chat.ChatID]bool{"-1": true, "-1001": true, "-7": false} {
		if known, err := f.Knows(ctx, "tg", c); known != want || err != nil {
			f.Errorf("knows %s: got %v, %v, want %v", c, known, err, want)
		}
	}
}

// testBlocksMove checks that the rate-limit block of a chat also applies under the chat's new id. If both ids of the
// chat have a block for the same calls, the block that ends later must remain.
func testBlocksMove(f *fixture) {
	ctx := f.Context()
	now := time.Now().Truncate(time.Millisecond).UTC()
	block := func(c chat.ChatID, s chat.Scope, minutes int) chat.Block {
		return chat.Block{Scope: s, Ops: chat.OpAll, Chat: c, Until: now.Add(time.Duration(minutes) * time.Minute)}
	}
	for _, b := range []chat.Block{
		block("-1", chat.ScopeChat, 5), block("-1001", chat.ScopeChat, 3), block("-1", chat.ScopeThread, 1), block("-1001", chat.ScopeThread, 2),
	} {
		f.must(f.SaveBlock(ctx, "tg", b))
	}
	f.must(f.Move(ctx, "tg", "-1", "-1001"))
	got, err := f.Blocks(ctx, "tg")
	f.must(err)
	slices.SortFunc(got, func(a, b chat.Block) int { return int(a.Scope) - int(b.Scope) })
	if want := []chat.Block{block("-1001", chat.ScopeChat, 5), block("-1001", chat.ScopeThread, 2)}; !reflect.DeepEqual(got, want) {
		f.Errorf("got %+v, want %+v", got, want)
	}
}

// Storing the same move again must change nothing: the store must still accept the summaries of turns that run in the
// new chat.
func testMoveAgain(f *fixture) {
	ctx := f.Context()
	f.remember(group(), "said")
	f.must(f.Move(ctx, "tg", "-1", "-1001"))
	f.accept(supergroup(), "1")
	f.begin("t", supergroup(), "1")
	f.must(f.Move(ctx, "tg", "-1", "-1001"))
	_, entries, err := f.Session(ctx, supergroup())
	f.must(err)
	f.must(f.Decide(ctx, "t", chat.Decision{Ending: []byte("x"), Growth: chat.Growth{Compaction: &chat.Compaction{Summary: "s", Upto: entries[0].ID}}}))
	if s, _, err := f.Session(ctx, supergroup()); err != nil || s.Summary != "s" {
		f.Errorf("got summary %q, %v, want that of the turn", s.Summary, err)
	}
}

func testMoveMerges(f *fixture) {
	ctx := f.Context()
	f.remember(group(), "1")
	f.remember(supergroup(), "2")
	f.remember(group(), "3")
	f.accept(group(), "10")
	f.accept(supergroup(), "20")
	f.accept(group(), "11")
	f.begin("old", group(), "10")
	time.Sleep(time.Second)
	f.begin("new", supergroup(), "20")
	f.must(f.Move(ctx, "tg", "-1", "-1001"))
	f.waits("tg:-1001/11", "tg:-1001/10!", "tg:-1001/20!")
	f.remembers(supergroup(), "1", "2", "3")
	f.must(f.Decide(ctx, "old", decision("x", "4"))) // neither turn is fenced, so both may add to the merged history
	f.must(f.Decide(ctx, "new", decision("x", "5")))
	f.remembers(group(), "1", "2", "3", "4", "5")
	f.begin("next", group(), "11")
	f.must(f.Decide(ctx, "next", decision("x")))
}

func testMoveChain(f *fixture) {
	ctx := f.Context()
	f.accept(private("a"), "1")
	f.must(f.Move(ctx, "tg", "a", "a"))
	f.must(f.Move(ctx, "tg", "a", "b"))
	f.must(f.Move(ctx, "tg", "b", "c"))
	f.waits("tg:c/1")
	f.remember(private("a"), "by a")
	f.remember(private("b"), "by b")
	f.reopen()
	f.remembers(private("c"), "by a", "by b")
	f.must(f.Move(ctx, "tg", "c", "a")) // the platform gives the chat its first id again
	f.waits("tg:a/1")
	for _, old := range []chat.ChatID{"a", "b", "c"} {
		f.remembers(private(old), "by a", "by b")
	}
	f.accept(private("c"), "2")
	f.waits("tg:a/1", "tg:a/2")
}

// When a group becomes a supergroup, its messages are numbered anew. So the same message id means different messages in
// the old and the new chat.
func testMoveEqualIDs(f *fixture) {
	ctx := f.Context()
	f.accept(group(), "1", "2")
	f.must(f.Drop(ctx, group(), "1"))
	f.must(f.Move(ctx, "tg", "-1", "-1001"))
	f.accept(supergroup(), "1", "2")
	f.waits("tg:-1001/2", "tg:-1001/1", "tg:-1001/2")
	f.begin("both", supergroup(), "2", "2")
	f.waits("tg:-1001/1", "tg:-1001/2!", "tg:-1001/2!")
	f.must(f.Release(ctx, "both"))
	f.begin("first", supergroup(), "2")
	f.must(f.End(ctx, "first", chat.Growth{}))
	f.waits("tg:-1001/1", "tg:-1001/2")
	f.begin("second", supergroup(), "2")
	f.must(f.End(ctx, "second", chat.Growth{}))
	f.waits("tg:-1001/1")
}

// A message is accepted under the old id of a chat, which then gets a new id. A turn under the chat's new id must be
// able to answer this message. Afterwards, this message must not be pending any more.
func testMoveWaiting(f *fixture) {
	ctx := f.Context()
	f.accept(group(), "1")
	f.must(f.Move(ctx, "tg", "-1", "-1001"))
	f.begin("t", group(), "1")
	f.waits("tg:-1001/1!")
	f.must(f.Decide(ctx, "t", decision("x", "answered")))
	f.must(f.End(ctx, "t", chat.Growth{}))
	f.reopen()
	f.waits()
	f.remembers(supergroup(), "answered")
}

// A running turn is fenced by Forget, and then its chat moves. Under the chat's new id, too, the store must refuse the
// fenced turn's result. The store must accept the results of turns that are not fenced.
func testMoveFences(f *fixture) {
	ctx := f.Context()
	f.accept(group(), "1", "2")
	f.begin("void", group(), "1")
	f.must(f.Forget(ctx, group()))
	f.begin("current", group(), "2")
	f.must(f.Forget(ctx, supergroup()))
	f.must(f.Move(ctx, "tg", "-1", "-1001"))
	f.fails(f.Decide(ctx, "void", decision("x", "void")))
	f.must(f.Decide(ctx, "current", decision("x", "current")))
	f.remembers(supergroup(), "current")
}

// The databases of users contain the values of these constants, so the values must never change.
func TestStoredNumbers(t *testing.T) {
	t.Parallel()
	got := []int{
		int(chat.Private), int(chat.Group), int(chat.Text), int(chat.Command), int(chat.Button),
		int(chat.ScopeMessage), int(chat.ScopeChat), int(chat.ScopeEndpoint),
	}
	if want := []int{0, 1, 0, 1, 2, 1, 2, 3}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v: a stored number may not change its meaning", got, want)
	}
}
