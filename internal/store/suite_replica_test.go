package store_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// shared contains the methods that a process uses if it shares its store with other processes.
type shared interface {
	gateway.Store
	gateway.Replicas
}

var _ shared = (*memory.Store)(nil)

// cluster is a store that several processes of a test share.
type cluster struct {
	*testing.T
	open  func(context.Context) (shared, error) // opens the store for another process
	sleep func(time.Duration)                   // makes time pass for the store
}

// TestMemoryReplicas runs the suite of tests for processes that share a store in memory.
func TestMemoryReplicas(t *testing.T) {
	t.Parallel()
	replicaSuite(t, func(t *testing.T, run func(*cluster)) {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			run(&cluster{T: t, sleep: time.Sleep, open: func(context.Context) (shared, error) { return m.Another(), nil }})
		})
	})
}

// replicaSuite runs the tests for stores that several processes can share. The function place calls the function run
// with an empty store.
func replicaSuite(t *testing.T, place func(t *testing.T, run func(*cluster))) {
	for _, test := range []struct {
		name string
		run  func(*cluster)
	}{
		{"ReplicaIDsGrow", testReplicaIDs},
		{"ReplicaLeaseEnds", testReplicaLease},
		{"ReplicaGetsChats", testReplicaChats},
		{"ReplicaIsGivenWorkOnce", testReplicaTake},
		{"ReplicaTakesOrphans_F41", testReplicaOrphans},
		{"ReplicaIsFenced_F41", testReplicaFence},
		{"ReplicaWithoutLeaseIsFenced_F41", testReplicaExpired},
		{"ReplicaWithoutLeaseWritesAboutNobody_F41", testReplicaExpiredPeople},
		{"ReplicasRememberOnce", testReplicaFacts},
		{"ReplicaFreesChats", testReplicaFree},
		{"ReplicaForwards", testReplicaForward},
		{"ReplicaReceives_F55", testReplicaReceive},
		{"ReplicaIsSignalled", testReplicaSignals},
		{"ReplicaClaims", testReplicaClaims},
		{"ReplicaLimitsPairing", testReplicaPairing},
		{"ReplicaCountsTurns", testReplicaTurns},
		{"ReplicaOwnsAMovedChat_F54", testReplicaMove},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			place(t, test.run)
		})
	}
}

// process plays one process that has registered as a replica.
type process struct {
	*fixture
	shared
	id   chat.ReplicaID
	self chat.Replica
	call int64
}

// process opens the store once more, as another process would, and registers the result as a replica.
func (c *cluster) process(endpoints ...chat.EndpointID) *process {
	c.Helper()
	s, err := c.open(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	if len(endpoints) == 0 {
		endpoints = []chat.EndpointID{"tg"}
	}
	p := &process{fixture: &fixture{T: c.T, Store: s}, shared: s, self: chat.Replica{Name: "host", Version: "1", Endpoints: endpoints}}
	p.id, err = s.Register(c.Context(), p.self)
	p.must(err)
	return p
}

func (p *process) renew() []chat.Replica {
	p.Helper()
	list, err := p.Renew(p.Context(), p.self)
	p.must(err)
	return list
}

// take calls Take, and returns the ids of the messages and turns that the process must now handle.
func (p *process) take() (messages, turns []string) {
	p.Helper()
	p.call++
	taken := p.taken(100)
	for _, m := range taken.Messages {
		messages = append(messages, string(m.Message.ID))
	}
	for _, t := range taken.Turns {
		turns = append(turns, t.ID)
	}
	return messages, turns
}

func (p *process) taken(orphans int) chat.Taken {
	p.Helper()
	taken, err := p.Take(p.Context(), p.call, orphans)
	p.must(err)
	return taken
}

// takes calls Take, and checks that the process gets exactly these messages and turns.
func (p *process) takes(messages, turns []string) {
	p.Helper()
	if m, t := p.take(); !slices.Equal(m, messages) || !slices.Equal(t, turns) {
		p.Fatalf("got messages %v and turns %v, want %v and %v", m, t, messages, turns)
	}
}

func (p *process) receives(want bool) {
	p.Helper()
	got, err := p.Receive(p.Context(), "tg")
	p.must(err)
	if got != want {
		p.Fatalf("got receiver %t, want %t", got, want)
	}
}

// hears makes the process start to listen for signals. The function that hears returns waits for signals and returns
// those that have arrived since its last call.
func (p *process) hears() func() chat.Signal {
	p.Helper()
	heard := make(chan chat.Signal, 100)
	ctx, cancel := context.WithCancel(p.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Listen(ctx, func(s chat.Signal) { heard <- s }) }()
	if first := <-heard; first != chat.SignalAll {
		p.Fatalf("got first signal %b, want all", first)
	}
	p.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			p.Errorf("Listen returned %v", err)
		}
	})
	return func() (all chat.Signal) {
		for wait := time.Second; ; wait = 50 * time.Millisecond { // wait, because a signal may arrive some time after the commit
			select {
			case s := <-heard:
				all |= s
			case <-time.After(wait):
				return all
			}
		}
	}
}

func testReplicaIDs(c *cluster) {
	a, b := c.process("tg", "dc"), c.process()
	if a.id <= 0 || b.id <= a.id {
		c.Fatalf("got ids %d and %d", a.id, b.id)
	}
	list := a.renew()
	if len(list) != 2 || list[0].ID != a.id || list[1].ID != b.id {
		c.Fatalf("got replicas %+v", list)
	}
	if got := list[0]; got.Name != "host" || got.Version != "1" || !slices.Equal(got.Endpoints, []chat.EndpointID{"tg", "dc"}) || got.Leaving || got.Began.IsZero() || got.Renewed.IsZero() {
		c.Fatalf("got %+v", got)
	}
	a.self.Leaving, a.self.Endpoints = true, []chat.EndpointID{"sl"}
	if got := a.renew()[0]; !got.Leaving || !slices.Equal(got.Endpoints, []chat.EndpointID{"sl"}) {
		c.Fatalf("got %+v", got)
	}
	a.must(a.Unregister(a.Context()))
	if list = b.renew(); len(list) != 1 || list[0].ID != b.id {
		c.Fatalf("got replicas %+v", list)
	}
	again, err := a.Register(a.Context(), a.self)
	a.must(err)
	if again <= b.id {
		c.Fatalf("got id %d after %d", again, b.id)
	}
}

func testReplicaLease(c *cluster) {
	a, b := c.process(), c.process()
	for range 3 {
		c.sleep(chat.LeaseTime - time.Second)
		a.renew()
	}
	_, err := b.Renew(b.Context(), b.self)
	b.is(err, chat.ErrLost)
	_, err = b.Take(b.Context(), 1, 1)
	b.is(err, chat.ErrLost)
	_, err = b.Receive(b.Context(), "tg")
	b.is(err, chat.ErrLost)
	if list := a.renew(); len(list) != 1 {
		c.Fatalf("got replicas %+v", list)
	}
}

func testReplicaChats(c *cluster) {
	a, b, other := c.process(), c.process(), c.process("dc")
	for _, id := range []chat.ChatID{"1", "2", "3", "4"} {
		a.accept(private(id), "m"+chat.MessageID(id))
	}
	mine, _ := a.take()
	theirs, _ := b.take()
	if len(mine) != 2 || len(theirs) != 2 {
		c.Fatalf("got %v and %v", mine, theirs)
	}
	other.takes(nil, nil)
	for _, r := range a.renew() {
		if want := map[chat.ReplicaID]int{a.id: 2, b.id: 2}[r.ID]; r.Chats != want {
			c.Fatalf("replica %d owns %d chats, want %d", r.ID, r.Chats, want)
		}
	}
	a.self.Leaving = true
	a.renew()
	for _, id := range []chat.ChatID{"5", "6", "7"} {
		a.accept(private(id), "m"+chat.MessageID(id))
	}
	b.takes([]string{"m5", "m6", "m7"}, nil)
	a.accept(private(chat.ChatID(mine[0][1:])), "more") // process a still owns this chat, although a is leaving
	a.takes([]string{"more"}, nil)
}

func testReplicaTake(c *cluster) {
	a := c.process()
	to := private("1")
	a.accept(to, "1", "2")
	a.call = 1
	for range 2 { // call again, as if the response to the first call was lost
		if got := a.taken(0); len(got.Messages) != 2 || got.Messages[0].Message.ID != "1" || got.Messages[1].Message.ID != "2" || got.Messages[0].Conversation != to {
			c.Fatalf("got %+v", got)
		}
	}
	a.takes(nil, nil)
	a.accept(to, "3")
	a.begin("t", to, "1")
	a.takes([]string{"3"}, nil) // Take must not return the turn, which this process itself has begun
	a.must(a.Release(a.Context(), "t"))
	a.takes(nil, nil)
	if pending, err := a.Pending(a.Context()); err != nil || len(pending) != 3 {
		c.Fatalf("got %v, %v", pending, err)
	}
}

func testReplicaOrphans(c *cluster) {
	a, b := c.process(), c.process()
	to, waits := private("1"), private("2")
	a.accept(to, "1")
	a.take()
	a.begin("t", to, "1")
	a.must(a.Note(a.Context(), "t", step(chat.StepSaid, "", "x")))
	a.must(a.Record(a.Context(), "t", chat.Part{State: chat.PartStands, Ref: chat.MessageRef{ID: "9"}, Key: "t-0", Text: "x"}))
	b.accept(waits, "2") // process b becomes the owner, because process a already owns a chat
	b.takes([]string{"2"}, nil)
	for range 2 {
		c.sleep(chat.LeaseTime - time.Second)
		b.renew()
	}
	b.call++
	if got := b.taken(0); len(got.Turns) > 0 {
		c.Fatalf("took %+v without room for orphans", got)
	}
	for range 2 { // call again, as if the response to the first call was lost
		got := b.taken(1)
		if len(got.Turns) != 1 || len(got.Messages) > 0 || !reflect.DeepEqual(got.Chats, []chat.Conversation{to}) {
			c.Fatalf("got %+v", got)
		}
		if turn := got.Turns[0]; turn.ID != "t" || turn.State != chat.TurnRunning || len(turn.Messages) != 1 || len(turn.Parts) != 1 || len(turn.Steps) != 1 {
			c.Fatalf("got %+v", turn)
		}
	}
	b.takes(nil, nil)
	b.must(b.Release(b.Context(), "t"))
	b.takes(nil, nil) // process b has already got this message, as a part of the turn
	b.waits("tg:1/1", "tg:2/2")
}

// writes makes all writes that only the owner of a conversation's chat may make, and returns the error of each write.
// The conversation must contain the unfinished turn t and the waiting message 2.
func writes(p *process, to chat.Conversation) map[string]error {
	ctx := p.Context()
	out := map[string]error{
		"Begin": p.Begin(ctx, turnOf("u", to, "2")), "Rerun": p.Begin(ctx, turnOf("t", to, "1")), "Join": p.Join(ctx, "t", "2"),
		"Note": p.Note(ctx, "t", step(chat.StepSaid, "", "x")), "Record": p.Record(ctx, "t", chat.Part{State: chat.PartStands}),
		"Drop": p.Drop(ctx, to, "2"), "Revise": p.Revise(ctx, to, message(to, "2")), "Forget": p.Forget(ctx, to),
		"Choose": p.Choose(ctx, to, "m"), "Consent": p.Consent(ctx, to, "u", "tool"), "Cut": p.Cut(ctx, "t", []byte("x")),
		"Decide": p.Decide(ctx, "t", decision("x")), "Release": p.Release(ctx, "t"), "End": p.End(ctx, "t", growth("x")),
	}
	_, out["Undo"] = p.Undo(ctx, to, turnOf("v", to))
	_, out["Erase"] = p.Erase(ctx, to, "u")
	return out
}

func testReplicaFence(c *cluster) {
	a, b := c.process(), c.process()
	to := private("1")
	a.accept(to, "1", "2")
	a.take()
	a.begin("t", to, "1")
	for name, err := range writes(b, to) {
		if !errors.Is(err, chat.ErrLost) || !errors.Is(err, chat.ErrFenced) {
			c.Errorf("%s of another replica: %v", name, err)
		}
	}
	a.must(a.Free(a.Context(), true, to))
	b.takes([]string{"2"}, []string{"t"})
	for name, err := range writes(a, to) {
		if !errors.Is(err, chat.ErrLost) {
			c.Errorf("%s after the chat was taken: %v", name, err)
		}
	}
	if got := b.unfinished(); got.ID != "t" || got.Runs != 1 || len(got.Steps)+len(got.Parts) > 0 || got.Void {
		c.Fatalf("got %+v", got)
	}
	b.must(b.Decide(b.Context(), "t", decision("end", "said")))
	b.remembers(to, "said")
}

func testReplicaExpired(c *cluster) {
	a := c.process()
	to := private("1")
	a.accept(to, "1", "2")
	a.take()
	a.begin("t", to, "1")
	c.sleep(chat.LeaseTime + time.Second)
	for name, err := range writes(a, to) {
		if !errors.Is(err, chat.ErrLost) {
			c.Errorf("%s after the lease: %v", name, err)
		}
	}
	_, err := a.Accept(a.Context(), to, message(to, "3"))
	a.is(err, chat.ErrLost)
	id, err := a.Register(a.Context(), a.self)
	a.must(err)
	if a.call = 0; id <= a.id {
		c.Fatalf("got id %d after %d", id, a.id)
	}
	a.takes([]string{"2"}, []string{"t"})
	a.must(a.End(a.Context(), "t", chat.Growth{}))
}

func testReplicaFree(c *cluster) {
	a, b := c.process(), c.process()
	to, idle := private("1"), private("2")
	a.accept(to, "1")
	a.take()
	a.must(a.Free(a.Context(), false, to, idle))
	a.begin("t", to, "1")
	a.must(a.Free(a.Context(), false, to))
	b.takes(nil, nil)
	a.must(a.End(a.Context(), "t", chat.Growth{}))
	a.must(a.Free(a.Context(), false, to))
	if got := b.renew()[0]; got.Chats != 0 {
		c.Fatalf("got %+v", got)
	}
	b.accept(to, "2")
	b.takes([]string{"2"}, nil)
	a.must(a.Free(a.Context(), true, to)) // must change nothing, because process a does not own the chat
	b.begin("u", to, "2")
	b.must(b.Free(b.Context(), true, to))
	a.call++
	if got := a.taken(1); len(got.Turns) != 1 || len(got.Chats) != 1 {
		c.Fatalf("got %+v", got)
	}
}

func testReplicaForward(c *cluster) {
	a, b := c.process(), c.process()
	to := private("1")
	edit := message(to, "1")
	edit.Kind, edit.Text = chat.Edited, "new"
	forward := func(want bool) {
		c.Helper()
		if got, err := b.Forward(b.Context(), to, edit); err != nil || got != want {
			c.Fatalf("got %t, %v", got, err)
		}
	}
	forward(false)
	a.accept(to, "1")
	forward(true)
	a.accept(to, "2")
	a.waits("tg:1/1", "tg:1/2")
	a.call = 1
	for range 2 {
		got := a.taken(0).Messages
		if len(got) != 3 || got[0].Message.ID != "1" || got[1].Message.Kind != chat.Edited || got[1].Message.Text != "new" || got[2].Message.ID != "2" {
			c.Fatalf("got %+v", got)
		}
	}
	a.takes(nil, nil)
	a.must(a.Drop(a.Context(), to, "1"))
	forward(true)
	a.waits("tg:1/2")
	for range 2 { // the lease of process a ends, so process b must get the messages
		c.sleep(chat.LeaseTime - time.Second)
		b.renew()
	}
	b.takes([]string{"2", "1"}, nil)
	b.takes(nil, nil)
	b.must(b.Drop(b.Context(), to, "2"))
	b.must(b.Free(b.Context(), false, to))
	forward(false)

	// If no live replica runs the endpoint of a chat, Forward must refuse the message, because no replica would handle
	// it.
	b.accept(to, "3")
	forward(true)
	other := c.process("dc")
	b.must(b.Unregister(b.Context()))
	if got, err := other.Forward(other.Context(), to, edit); err != nil || got {
		c.Fatalf("got %t, %v, for a chat whose endpoint nobody runs", got, err)
	}
}

func testReplicaReceive(c *cluster) {
	a, b := c.process(), c.process()
	a.receives(true)
	b.receives(false)
	a.receives(true)
	if list := b.renew(); len(list) != 2 || !slices.Equal(list[0].Receives, []chat.EndpointID{"tg"}) || len(list[1].Receives) != 0 {
		c.Fatalf("got %+v", list)
	}
	cursor := func(p *process, id chat.MessageID, resume string) error {
		in := message(private("1"), id)
		in.Resume = resume
		_, err := p.Accept(p.Context(), private("1"), in)
		return err
	}
	a.must(cursor(a, "1", "c1"))
	b.is(cursor(b, "2", "c2"), chat.ErrLost)
	from, err := b.Resume(b.Context(), "tg")
	if err != nil || from.Cursor != "c1" {
		c.Fatalf("got %+v, %v", from, err)
	}
	if got := from.Received; len(got) != 1 || got[0].ID != "1" || got[0].Target.Chat != "1" { // the next receiver needs them for its search
		c.Fatalf("got %+v", got)
	}
	b.must(b.Yield(b.Context(), "tg")) // must change nothing, because process b is not the receiver
	b.receives(false)
	ofB := b.hears()
	a.must(a.Yield(a.Context(), "tg"))
	if list := b.renew(); len(list[0].Receives) != 0 {
		c.Fatalf("got %+v", list)
	}
	if got := ofB(); got != chat.SignalWork {
		c.Fatalf("b hears %b", got)
	}
	b.receives(true)
	a.receives(false)
	b.must(b.Yield(b.Context(), "tg"))
	a.receives(true)
	a.self.Leaving = true
	a.renew()
	a.receives(false)
	b.receives(true)
	a.is(cursor(a, "3", "c3"), chat.ErrLost)
	b.must(b.Unregister(b.Context()))
	d := c.process()
	d.receives(true)
	c.sleep(chat.LeaseTime + time.Second)
	e := c.process()
	e.receives(true)
	d.is(cursor(d, "4", "c4"), chat.ErrLost)
}

func testReplicaSignals(c *cluster) {
	a, b := c.process(), c.process()
	ofA, ofB := a.hears(), b.hears()
	hear := func(what string, wantA, wantB chat.Signal) {
		c.Helper()
		a.renew()
		b.renew()
		if got := ofA(); got != wantA {
			c.Fatalf("%s: a hears %b, want %b", what, got, wantA)
		}
		if got := ofB(); got != wantB {
			c.Fatalf("%s: b hears %b, want %b", what, got, wantB)
		}
	}
	to := private("1")
	a.accept(to, "1")
	hear("accept by the owner", chat.SignalWork, 0)
	b.accept(to, "2")
	hear("accept by another", chat.SignalWork, 0)
	edit := message(to, "1")
	edit.Kind = chat.Edited
	_, err := b.Forward(b.Context(), to, edit)
	b.must(err)
	hear("forward", chat.SignalWork, 0)
	a.must(a.SaveBlock(a.Context(), "tg", chat.Block{Scope: chat.ScopeEndpoint, Until: time.Now().Add(time.Hour)}))
	hear("block", 0, chat.SignalBlocks)
	b.must(b.Admit(b.Context(), chat.Admission{Person: chat.Person{Endpoint: "tg", User: "u"}, At: time.Now()}))
	hear("admission", chat.SignalAccess, 0)
	_, err = a.Revoke(a.Context(), chat.Person{Endpoint: "tg", User: "u"})
	a.must(err)
	hear("revocation", 0, chat.SignalAccess)
	a.must(a.SavePairingRequest(a.Context(), chat.PairingRequest{Person: chat.Person{Endpoint: "tg", User: "v"}, Code: "x", At: time.Now()}))
	hear("request", 0, chat.SignalAccess)
	a.must(a.Free(a.Context(), true, to))
	if got := ofB(); got&chat.SignalWork == 0 {
		c.Fatalf("free: b hears %b", got)
	}
	ofA()
	a.must(a.Unregister(a.Context()))
	if got := ofB(); got&chat.SignalWork == 0 {
		c.Fatalf("unregister: b hears %b", got)
	}
}

// Many people send pairing requests to different replicas at the same time. The number of valid requests must not
// exceed the endpoint's limit.
func testReplicaPairing(c *cluster) {
	replicas := []*process{c.process("tg"), c.process("tg"), c.process("tg")}
	refused := make(chan error, 12)
	var asks sync.WaitGroup
	for i := range cap(refused) {
		asks.Go(func() {
			user := chat.UserID(fmt.Sprint(i))
			refused <- replicas[i%len(replicas)].SavePairingRequest(c.Context(), chat.PairingRequest{Person: chat.Person{Endpoint: "tg", User: user}, Code: string(user), At: time.Now()})
		})
	}
	asks.Wait()
	for range cap(refused) {
		if err := <-refused; err != nil && !errors.Is(err, chat.ErrManyRequests) {
			c.Error(err)
		}
	}
	if list, err := replicas[0].PairingRequests(c.Context()); err != nil || len(list) != chat.MaxPairingRequests {
		c.Errorf("%d people wait (%v), want %d", len(list), err, chat.MaxPairingRequests)
	}
}

func testReplicaClaims(c *cluster) {
	a, b := c.process(), c.process()
	share := func(p *process, mine ...chat.Claim) (others []chat.Claim) {
		c.Helper()
		p.must(p.Share(p.Context(), "tg", func(o []chat.Claim) []chat.Claim {
			others = o
			return mine
		}))
		return others
	}
	second := chat.Claim{Ops: chat.OpAll, Window: 10 * time.Second, Share: 1, Held: 2, Wanted: 3, Waiting: 4 * time.Second}
	minute := chat.Claim{Ops: chat.OpSend, Window: time.Minute, Share: 5}
	if got := share(a, second, minute); len(got) > 0 {
		c.Fatalf("got %+v", got)
	}
	want := []chat.Claim{second, minute}
	for i := range want {
		want[i].Replica = a.id
	}
	sees := func(want ...chat.Claim) {
		c.Helper()
		got := share(b)
		slices.SortFunc(got, func(x, y chat.Claim) int { return int(x.Window - y.Window) })
		if !slices.Equal(got, want) {
			c.Fatalf("got %+v, want %+v", got, want)
		}
	}
	sees(want...)
	c.sleep(chat.LeaseTime - time.Second)
	a.renew()
	b.renew()
	a.must(a.Unregister(a.Context()))
	want[0].Dead, want[1].Dead = true, true
	sees(want...)
	for range 3 { // longer than the window of want[0], shorter than that of want[1]
		c.sleep(chat.LeaseTime - time.Second)
		b.renew()
	}
	sees(want[1])
}

func testReplicaMove(c *cluster) {
	a, b := c.process(), c.process()
	to, moved := private("1"), private("2")
	a.accept(to, "1")
	a.take()
	a.begin("t", to, "1")
	b.must(b.Move(b.Context(), "tg", "1", "2"))
	a.must(a.Note(a.Context(), "t", step(chat.StepSaid, "", "x")))
	b.is(b.Note(b.Context(), "t", step(chat.StepSaid, "", "x")), chat.ErrLost)
	b.accept(moved, "5")
	a.takes([]string{"5"}, nil)
	b.accept(private("3"), "3") // process b becomes the owner of chat 3
	b.takes([]string{"3"}, nil)
	b.must(b.Move(b.Context(), "tg", "2", "3"))
	b.takes([]string{"5"}, []string{"t"})
	a.is(a.Note(a.Context(), "t", step(chat.StepSaid, "", "x")), chat.ErrLost)
}

// Different replicas answer messages of the same person. The store must count the person's turns of the last minute,
// whichever replica runs them.
func testReplicaTurns(c *cluster) {
	a, b := c.process(), c.process()
	ann, ben := chat.Person{Endpoint: "tg", User: "ann"}, chat.Person{Endpoint: "tg", User: "ben"}
	counts := func(p *process, who chat.Person, limit int, want bool) {
		c.Helper()
		if got, err := p.CountTurn(p.Context(), who, limit); err != nil || got != want {
			c.Errorf("counted a turn of %s: %t, %v", who, got, err)
		}
	}
	counts(a, ann, 2, true)
	counts(b, ann, 2, true)
	counts(a, ann, 2, false)
	counts(b, ann, 2, false)
	counts(a, ann, 3, true) // a higher limit allows one more turn
	counts(b, ben, 2, true)
	counted := make(chan bool, 20)
	for i := range cap(counted) {
		go func() {
			one, err := []*process{a, b}[i%2].CountTurn(c.Context(), chat.Person{Endpoint: "tg", User: "eve"}, 7)
			counted <- one && err == nil
		}()
	}
	n := 0
	for range cap(counted) {
		if <-counted {
			n++
		}
	}
	if n != 7 {
		c.Errorf("%d of 20 turns at once were counted, want 7", n)
	}
	c.sleep(time.Minute)
	for _, p := range []*process{a, b} { // register both processes again, because their leases have ended
		_, err := p.Register(p.Context(), p.self)
		p.must(err)
	}
	counts(b, ann, 2, true)
	counts(b, ann, 2, true)
	counts(a, ann, 2, false)
}
