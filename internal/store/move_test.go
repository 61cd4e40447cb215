package store_test

import (
	"reflect"
	"testing"

	"telex/internal/chat"
	"telex/internal/store"
)

// group and thread are conversations of one chat, which becomes supergroup.
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
	f.must(f.Append(ctx, group(), []byte("said")))
	f.begin("t", group(), "2")
	ref := chat.MessageRef{ID: "55", Target: chat.Target{Chat: "-1"}}
	f.must(f.Record(ctx, "t", store.Part{State: store.Stands, Ref: ref}))
	f.must(f.Move(ctx, "tg", "-1", "-1001"))
	f.must(f.Move(ctx, "tg", "-1", "-1001")) // both the send and the update tell it
	f.reopen()

	f.waits("tg:-1001/1", "tg:-1001/2!", "tg:-1001:9/3")
	pending, err := f.Pending(ctx)
	f.must(err)
	if got := pending[0].Inbound; got.To.Chat != "-1001" || got.Reply {
		f.Errorf("got %+v, want it answered in the new chat, without reference", got)
	}
	got := f.unfinished()
	if got.To.Chat != "-1001" || got.ReplyTo != "" || got.Conversation != supergroup() {
		f.Errorf("got %+v, want the turn in the new chat, without reference", got)
	}
	if want := []store.Part{{State: store.Stands, Ref: ref}}; !reflect.DeepEqual(got.Parts, want) {
		f.Errorf("got %+v, want the message where it stands: %+v", got.Parts, want)
	}
	f.remembers(supergroup(), "said")
	to, moved, err := f.Moved(ctx, "tg", "-1")
	f.must(err)
	if to != "-1001" || !moved {
		f.Errorf("got %s, %v, want -1001", to, moved)
	}
	if to, moved, err := f.Moved(ctx, "other", "-1"); moved || err != nil {
		f.Errorf("another endpoint: got %s, %v, %v, want not moved", to, moved, err)
	}

	// Whoever still knows the old id means the new chat.
	f.must(f.Decide(ctx, "t", decision("x", "answered")))
	f.must(f.Append(ctx, group(), []byte("more")))
	f.remembers(group(), "said", "answered", "more")
	f.must(f.Drop(ctx, group(), "1"))
	f.accept(group(), "4")
	f.waits("tg:-1001/2!", "tg:-1001:9/3", "tg:-1001/4")
	if fresh, err := f.Accept(ctx, group(), in); fresh || err != nil {
		f.Errorf("old message again: got %v, %v, want known", fresh, err)
	}
}

func testMoveMerges(f *fixture) {
	ctx := f.Context()
	f.must(f.Append(ctx, group(), []byte("1")))
	f.must(f.Append(ctx, supergroup(), []byte("2")))
	f.must(f.Append(ctx, group(), []byte("3")))
	f.accept(group(), "10")
	f.accept(supergroup(), "20")
	f.accept(group(), "11")
	f.begin("old", group(), "10")
	f.begin("new", supergroup(), "20")
	f.must(f.Move(ctx, "tg", "-1", "-1001"))
	f.waits("tg:-1001/10!", "tg:-1001/20!", "tg:-1001/11")
	f.remembers(supergroup(), "1", "2", "3")
	f.must(f.Decide(ctx, "old", decision("x", "4"))) // both were current where they began
	f.must(f.Decide(ctx, "new", decision("x", "5")))
	f.remembers(group(), "1", "2", "3", "4", "5")
	f.begin("next", group(), "11")
	f.must(f.Decide(ctx, "next", decision("x")))
	rep, err := f.Check(ctx)
	f.must(err)
	if rep.Conversations != 1 || len(rep.Problems) > 0 {
		f.Errorf("got %+v, want one conversation and no problem", rep)
	}
}

func testMoveChain(f *fixture) {
	ctx := f.Context()
	f.accept(private("a"), "1")
	f.must(f.Move(ctx, "tg", "a", "a"))
	f.must(f.Move(ctx, "tg", "a", "b"))
	f.must(f.Move(ctx, "tg", "b", "c"))
	f.waits("tg:c/1")
	for _, old := range []chat.ChatID{"a", "b"} {
		if to, moved, err := f.Moved(ctx, "tg", old); to != "c" || !moved || err != nil {
			f.Errorf("%s: got %s, %v, %v, want c", old, to, moved, err)
		}
	}
	f.must(f.Move(ctx, "tg", "c", "a")) // a is in use again
	f.waits("tg:a/1")
	for _, old := range []chat.ChatID{"b", "c"} {
		if to, moved, err := f.Moved(ctx, "tg", old); to != "a" || !moved || err != nil {
			f.Errorf("%s: got %s, %v, %v, want a", old, to, moved, err)
		}
	}
	if to, moved, err := f.Moved(ctx, "tg", "a"); moved || err != nil {
		f.Errorf("got %s, %v, want a where it is", to, err)
	}
}

// A supergroup numbers its messages anew, so equal ids are different messages.
func testMoveEqualIDs(f *fixture) {
	ctx := f.Context()
	f.accept(group(), "1", "2")
	f.must(f.Drop(ctx, group(), "1"))
	f.must(f.Move(ctx, "tg", "-1", "-1001"))
	f.accept(supergroup(), "1", "2")
	f.waits("tg:-1001/2", "tg:-1001/1", "tg:-1001/2")
	f.begin("both", supergroup(), "2", "2")
	f.waits("tg:-1001/2!", "tg:-1001/1", "tg:-1001/2!")
	f.must(f.End(ctx, "both", store.Released))
	f.begin("first", supergroup(), "2")
	f.must(f.End(ctx, "first", store.Done))
	f.waits("tg:-1001/1", "tg:-1001/2")
	f.begin("second", supergroup(), "2")
	f.must(f.End(ctx, "second", store.Done))
	f.waits("tg:-1001/1")
}

// The numbers of these kinds are in the files of users.
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
