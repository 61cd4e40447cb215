package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// severed is one replica's connection to the shared store. The test can interrupt the connection.
type severed struct {
	*memory.Store
	mu   sync.Mutex
	away bool
	mute chan struct{} // not nil: renewals block until the channel is closed
	lost int           // how many of the next calls of Begin fail, as if the lease had ended
	once string        // name of the call that fails once, as if the lease had ended
}

var errAway = errors.New("the database is away")

func (s *severed) sever(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

func (s *severed) reach() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return errAway
	}
	return nil
}

func (s *severed) Renew(ctx context.Context, self chat.Replica) ([]chat.Replica, error) {
	if err := s.reach(); err != nil {
		return nil, err
	}
	if s.mute != nil {
		<-s.mute
	}
	return s.Store.Renew(ctx, self)
}

func (s *severed) Register(ctx context.Context, self chat.Replica) (chat.ReplicaID, error) {
	if err := s.reach(); err != nil {
		return 0, err
	}
	return s.Store.Register(ctx, self)
}

func (s *severed) Record(ctx context.Context, turn string, parts ...chat.Part) error {
	if err := s.reach(); err != nil {
		return err
	}
	return s.Store.Record(ctx, turn, parts...)
}

// Begin fails as long as lost is greater than 0, as if the lease had ended.
func (s *severed) Begin(ctx context.Context, t chat.Turn) error {
	s.mu.Lock()
	lost := s.lost
	s.lost = max(0, lost-1)
	s.mu.Unlock()
	if lost > 0 {
		return chat.ErrLost
	}
	return s.Store.Begin(ctx, t)
}

// fellow is one of several replicas.
type fellow struct {
	*branch
	*script
	store   *severed
	gateway *gateway.Gateway
	stop    func() error
}

// fleet starts replicas, one after the other. The replicas of a fleet share the platform, the store and the model.
func fleet(t *testing.T, n int, one bool, change func(*gateway.Options)) (list []*fellow) {
	t.Helper()
	f := &fellow{branch: &branch{platform: newPlatform(), one: one}, script: newScript(), store: &severed{Store: memory.New()}}
	for range n {
		f = f.joined(t, change)
		list = append(list, f)
	}
	return list
}

// The method joined starts one more replica of the same fleet.
func (f *fellow) joined(t *testing.T, change func(*gateway.Options)) *fellow {
	t.Helper()
	next := &fellow{branch: &branch{platform: f.platform, one: f.one}, script: f.script, store: &severed{Store: f.store.Another()}}
	h := openWith(t, house{platform: f.platform, script: f.script}, func(o *gateway.Options) {
		o.Endpoints[0].Platform = next.branch
		o.Store, o.Replicas, o.OnEdit = next.store, next.store, gateway.Restart
		if change != nil {
			change(o)
		}
	})
	next.gateway, next.stop = h.gateway, h.stop
	return next
}

// The method runs returns how many turns have begun, and how many have ended.
func (s *script) runs() (begun, ended int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.turns), len(s.ended)
}

// The function in returns a message in a chat.
func in(c chat.ChatID, m chat.Inbound) chat.Inbound {
	m.To.Chat = c
	return m
}

// Any replica may receive a message and store it, but only the owner of the chat answers. The answers must be in the
// order of the messages.
func TestReplicasAnswerInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 3, false, func(o *gateway.Options) { o.Busy, o.MaxQueued = gateway.Queue, 20 })
		var want []string
		for i := range 6 {
			text := fmt.Sprint("q", i)
			r[i%3].say(t, ask(text))
			want = append(want, "re: "+text)
		}
		later(30 * time.Second)
		equal(t, "people see", r[0].sees(), want)
		owners := 0
		for _, one := range r {
			if !one.last().IsZero() {
				owners++
			}
		}
		if owners != 1 {
			t.Errorf("%d replicas answered in one chat", owners)
		}
	})
}

// People write in several chats. The chats must be distributed evenly over the replicas.
func TestReplicasShareTheChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 3, true, nil)
		if !r[0].receives() || r[1].receives() || r[2].receives() {
			t.Fatal("there is not one receiver")
		}
		for i := range 9 {
			r[0].say(t, in(chat.ChatID(fmt.Sprint("c", i)), ask("a")))
		}
		later(10 * time.Second)
		for i, one := range r {
			one.branch.mu.Lock()
			n := len(one.called)
			one.branch.mu.Unlock()
			if n != 3 && n != 6 { // each answer is one message, possibly with an edit
				t.Errorf("replica %d made %d calls for 3 chats", i, n)
			}
		}
		if peers := r[1].gateway.Overview().Replica.Peers; len(peers) != 3 || peers[0].Chats != 3 {
			t.Errorf("got replicas %+v", peers)
		}
	})
}

// One replica receives a command, an edit or a deletion, and another replica owns the chat. The owner must get the
// event within 200 ms.
func TestReplicasForwardToTheOwner(t *testing.T) {
	for _, c := range []struct {
		name string
		in   chat.Inbound
		want []string
	}{
		{"stop", command("stop"), []string{"one ■"}},
		{"edit", revised(chat.Edited, "m1", "b"), []string{"re: b"}},
		{"deletion", revised(chat.Deleted, "m1", ""), []string{"one ■"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleet(t, 2, false, func(o *gateway.Options) { o.Texts = gateway.DefaultTexts(); o.Texts[gateway.TextStopMark] = "■" })
				r[0].answers["a"] = "one " + strings.Repeat("two ", 200)
				r[0].say(t, revised(chat.Text, "m1", "a"))
				later(250 * time.Millisecond)
				r[1].say(t, c.in)
				began := time.Now()
				_, ended := r[0].runs()
				for ; ended == 0 && time.Since(began) < time.Minute; _, ended = r[0].runs() {
					later(10 * time.Millisecond)
				}
				if took := time.Since(began); ended == 0 || took > 200*time.Millisecond {
					t.Errorf("the owner heard it after %v", took)
				}
				later(10 * time.Second)
				if got := r[0].sees(); len(got) != 1 || c.name == "edit" && got[0] != "re: b" || strings.Contains(got[0], "▌") {
					t.Errorf("people see %q", got)
				}
				if last := r[1].last(); !last.IsZero() {
					t.Error("the other replica made a call")
				}
			})
		})
	}
}

// A replica that can't renew its lease must make no more calls to the platform. After the end of the lease, another replica
// must continue the reply in the same message. When the first replica reaches the store again, it must register again.
func TestReplicaWithoutLeaseStops_F41(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 2, true, nil)
		long := strings.Repeat("word ", 150)
		r[0].answers["a"] = long
		r[0].say(t, ask("a"))
		later(3 * time.Second)
		r[0].store.sever(true)
		cut := time.Now()
		for r[1].last().IsZero() && time.Since(cut) < 8*time.Second {
			later(100 * time.Millisecond)
		}
		switch last, took := r[0].last(), r[1].last(); {
		case took.IsZero():
			t.Fatal("nobody goes on after 8 s")
		case !last.Before(took):
			t.Errorf("the replica without a lease called %v after the next one", last.Sub(took))
		}
		if r[0].receives() || !r[1].receives() {
			t.Errorf("receiving: %t and %t", r[0].receives(), r[1].receives())
		}
		r[0].store.sever(false)
		later(time.Minute)
		equal(t, "people see", r[0].sees(), []string{strings.TrimSpace(long)})
		r[1].say(t, in("other", ask("b"))) // this new chat goes to the replica that has come back
		before := r[0].last()
		later(5 * time.Second)
		if r[0].last().Equal(before) {
			t.Error("the replica that came back answers nothing")
		}
		if err := r[0].stop(); err != nil {
			t.Error(err)
		}
	})
}

// The replica that runs a turn loses its lease several times. The turn must be run again each time, because it does not
// crash the process. (The limit of three attempts applies only to turns that crash a process.)
func TestLostLeasesAreNotTheTurnsFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 1, true, nil)[0]
		long := strings.Repeat("word ", 150)
		r.answers["a"] = long
		r.say(t, ask("a"))
		for range 4 {
			later(3 * time.Second)
			r.store.sever(true)
			later(7 * time.Second)
			r.store.sever(false)
		}
		later(time.Minute)
		if begun, _ := r.runs(); begun != 5 {
			t.Errorf("the model was asked %d times, want once more after each lease", begun)
		}
		equal(t, "people see", r.sees(), []string{strings.TrimSpace(long)})
	})
}

// A replica dies. When a replica's lease ends, another replica must take over its chats at once, and not only at the next
// regular search for work.
func TestReplicaTakesOverAtTheEndOfTheLease_F41(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dies := fleet(t, 1, true, nil)[0]
		later(300 * time.Millisecond)
		goesOn := dies.joined(t, nil)
		dies.answers["a"] = strings.Repeat("word ", 150)
		dies.say(t, ask("a"))
		later(2700 * time.Millisecond) // right after a renewal of the lease
		dies.store.sever(true)
		later(chat.LeaseTime + 50*time.Millisecond)
		if begun, _ := goesOn.runs(); begun != 2 {
			t.Error("the answer does not go on")
		}
	})
}

// A replica that takes over a reply repeats the last edit, because the earlier owner may still edit the message. In
// this test, the earlier owner of the chat has shown nothing. So the replica must not repeat its own edits, even if the
// turn starts over because the question was edited.
func TestReplicaRepeatsNoEditOfItsOwnMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 2, true, nil)
		r[0].answers["a"] = strings.Repeat("word ", 150)
		r[0].store.sever(true) // so the first owner of the chat shows nothing
		r[0].say(t, revised(chat.Text, "m1", "a"))
		for len(r[0].sees()) == 0 {
			later(100 * time.Millisecond)
		}
		r[1].say(t, revised(chat.Edited, "m1", "b"))
		later(time.Minute)
		equal(t, "people see", r[0].sees(), []string{"re: b"})
		if all := r[0].messages[0].versions; len(all) != len(slices.Compact(slices.Clone(all))) {
			t.Errorf("an edit is repeated: %q", all)
		}
	})
}

// counted is a platform with a limit that counts the calls of the whole endpoint.
type counted struct{ *branch }

func (c counted) Profile(to chat.Target) chat.Profile {
	p := c.branch.Profile(to)
	p.Limits = append(p.Limits, chat.Limit{Scope: chat.ScopeEndpoint, Ops: chat.OpAll, Count: 30, Window: time.Minute, Burst: 30})
	return p
}

// A replica stops gracefully. The other replicas must get at once the unused part of the share that the stopped replica had
// of a rate limit. If the others had to wait, a part of a limit per minute would be unusable for a minute after each restart.
func TestReplicaThatStopsLeavesItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 2, false, func(o *gateway.Options) { o.Endpoints[0].Platform = counted{o.Endpoints[0].Platform.(*branch)} })
		later(3 * time.Second)
		r[0].say(t, ask("a"))
		later(5 * time.Second)
		if err := r[0].stop(); err != nil {
			t.Fatal(err)
		}
		r[0].branch.mu.Lock()
		made := len(r[0].called)
		r[0].branch.mu.Unlock()
		held := 0
		if err := r[1].store.Share(t.Context(), "tg", func(others []chat.Claim) []chat.Claim {
			for _, c := range others {
				if c.Dead {
					held += c.Held
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if made == 0 || held < made || held > made+2 { // the replica also made up to two calls for typing indicators
			t.Errorf("the replica that stopped holds %d of 30 calls, want about the %d that it has made", held, made)
		}
	})
}

// A replica that is stopping must complete its running answers, while the other replicas answer new messages. (If
// another replica continued these answers, their text would not grow for a while.) If no other replica runs, the
// stopping replica must stop early: until the next process starts, nobody answers new messages.
func TestReplicaThatStopsFinishesItsAnswers(t *testing.T) {
	const soon = 6 * time.Second // duration of a sixth of the grace period, and of the last edit
	for _, replicas := range []int{1, 2} {
		t.Run(fmt.Sprint(replicas, " replicas"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleet(t, replicas, true, func(o *gateway.Options) { o.Grace = 30 * time.Second })
				text := strings.TrimSpace(strings.Repeat("word ", 200))
				r[0].answers["a"] = text
				r[0].say(t, ask("a"))
				later(time.Second)
				began := time.Now()
				if err := r[0].stop(); err != nil {
					t.Error(err)
				}
				took := time.Since(began)
				if replicas == 1 {
					if took > soon {
						t.Errorf("it stopped after %v, want less than %v", took, soon)
					}
					return
				}
				if took <= soon {
					t.Errorf("it stopped after %v, which is too early for the rest of the answer", took)
				}
				later(time.Minute)
				if runs, _ := r[0].runs(); runs != 1 {
					t.Errorf("the model was asked %d times, want once", runs)
				}
				equal(t, "people see", r[0].sees(), []string{text})
			})
		})
	}
}

// A replica stops during a reply, and another replica continues the reply at once. At no time may people see the text
// "(stopped)" below the reply.
func TestReplicaThatStopsHandsOverWithoutAMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 2, true, func(o *gateway.Options) {
			o.Grace = 6 * time.Second
			o.Texts = gateway.DefaultTexts()
			o.Texts[gateway.TextStopMark] = "■"
		})
		text := strings.TrimSpace(strings.Repeat("word ", 400))
		r[0].answers["a"] = text
		r[0].say(t, ask("a"))
		later(time.Second)
		stopped := make(chan error, 1)
		go func() { stopped <- r[0].stop() }()
		for range 100 {
			later(100 * time.Millisecond)
			if got := strings.Join(r[0].sees(), "\n"); strings.Contains(got, "■") {
				t.Fatalf("people see %q", got)
			}
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		later(time.Minute)
		if runs, _ := r[0].runs(); runs != 2 {
			t.Errorf("the model was asked %d times, want twice", runs)
		}
		equal(t, "people see", r[0].sees(), []string{text})
	})
}

// An adapter must always know how many replicas receive. The adapter uses the number of receiving replicas to slow down its
// reading of missed messages, and to keep a resource, such as a webhook, that another replica still needs.
func TestReplicasKnowTheOtherReceivers(t *testing.T) {
	for _, one := range []bool{false, true} {
		t.Run(fmt.Sprint("one receiver: ", one), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleet(t, 3, one, nil)
				know := func(when string, want ...string) { // want: for each receiving replica, the numbers of other and of older receivers
					t.Helper()
					var got []string
					for _, f := range r {
						if f.from.Fellows != nil {
							all, older := f.from.Fellows()
							got = append(got, fmt.Sprint(all, " ", older))
						}
					}
					if one {
						want = []string{"0 0"}
					}
					equal(t, when, got, want)
				}
				later(2 * time.Second)
				know("three know", "2 0", "2 1", "2 2")
				if err := r[0].stop(); err != nil {
					t.Error(err)
				}
				later(2 * time.Second)
				r = r[1:]
				know("two know", "1 0", "1 1")
			})
		})
	}
}

// A replica that is stopping must ask the store which replicas receive, because another replica may just have started. A
// replica without a lease can't find out which replicas receive.
func TestStoppingReplicaKnowsTheRemainingReceivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 1, false, nil)
		later(300 * time.Millisecond)
		next := r[0].joined(t, nil)
		if err := r[0].stop(); err != nil {
			t.Error(err)
		}
		if r[0].left != 1 {
			t.Errorf("the replica that stopped knew of %d others, want 1", r[0].left)
		}
		later(2 * time.Second)
		next.store.sever(true)
		later(2 * chat.LeaseTime)
		if next.receives() || next.left != 1 {
			t.Errorf("without a lease: receives %t, knew of %d others, want at least 1", next.receives(), next.left)
		}
		next.store.sever(false)
		later(2 * time.Second)
		if err := next.stop(); err != nil || next.left != 0 {
			t.Errorf("stopped with %v; the last replica knew of %d others", err, next.left)
		}
	})
}

// Strangers write to all replicas at the same time. All replicas together must send codes to only three strangers. The
// other strangers must get no answer at all.
func TestReplicasLetThreeStrangersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 2, false, func(o *gateway.Options) { o.Access = access.Rules{Pair: true, Admins: o.Access.Admins} })
		var asks sync.WaitGroup
		for i := range 8 {
			asks.Go(func() {
				m := ask("let me in")
				m.Sender.ID = chat.UserID(fmt.Sprint(20 + i))
				r[i%2].say(t, in(chat.ChatID(m.Sender.ID), m))
			})
		}
		asks.Wait()
		later(time.Minute)
		if got := r[0].sees(); len(got) != 3 {
			t.Errorf("strangers see %q, want three codes", got)
		}
		for i, f := range r {
			if list := f.gateway.Policy().PairingRequests(); len(list) != 3 {
				t.Errorf("replica %d knows the requests %v, want three", i, list)
			}
		}
		pending, err := r[0].store.Pending(t.Context())
		if err != nil || len(pending) > 0 {
			t.Errorf("messages wait: %v, %v", pending, err)
		}
	})
}

// A replica has registered, and its first renewal hangs. The replica must already list itself among the known replicas.
func TestReplicasKnowThemselvesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan struct{})
		r := fleet(t, 1, false, func(o *gateway.Options) {
			o.Self.Name = "host"
			o.Store.(*severed).mute = answers
		})
		later(500 * time.Millisecond)
		s := r[0].gateway.Overview().Replica
		close(answers)
		if len(s.Peers) != 1 || s.Peers[0].ID != s.ID || s.ID == 0 || s.Peers[0].Name != "host" || s.Peers[0].Began.IsZero() ||
			!slices.Equal(s.Peers[0].Endpoints, []chat.EndpointID{"tg"}) {
			t.Errorf("it has the id %d and knows %+v", s.ID, s.Peers)
		}
	})
}

// One replica lets a person in, or gets a rate-limit block. All replicas must then let in this person, and respect the block.
func TestReplicasShareAccessAndBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 2, false, func(o *gateway.Options) { o.Access = access.Rules{Pair: true, Admins: o.Access.Admins} })
		c := chat.Conversation{Endpoint: "tg", Chat: "7"}
		r[0].say(t, ask("a"))
		later(time.Second)
		requests := r[1].gateway.Policy().PairingRequests()
		if len(requests) != 1 {
			t.Fatalf("the other replica knows the requests %v", requests)
		}
		if _, err := r[1].gateway.Policy().Approve(t.Context(), requests[0].Code, "operator"); err != nil {
			t.Fatal(err)
		}
		later(100 * time.Millisecond)
		if !r[0].gateway.Policy().Allows(c, "7") {
			t.Error("the other replica does not know whom to let in")
		}
		if err := r[0].gateway.Policy().Revoke(t.Context(), chat.Person{Endpoint: "tg", User: "7"}, "operator"); err != nil {
			t.Fatal(err)
		}
		later(100 * time.Millisecond)
		if r[1].gateway.Policy().Allows(c, "7") {
			t.Error("the other replica lets in somebody whose access was revoked")
		}
		later(time.Minute)
		r[0].say(t, ask("b"))
		later(time.Second)
		if got := r[0].sees(); len(got) != 2 || got[0] == got[1] {
			t.Errorf("whose access was revoked gets no new code, but sees %q", got)
		}
		block := chat.Block{Scope: chat.ScopeEndpoint, Ops: chat.OpAll, Until: time.Now().Add(time.Hour)}
		if err := r[0].store.SaveBlock(t.Context(), "tg", block); err != nil {
			t.Fatal(err)
		}
		later(100 * time.Millisecond)
		blocks := r[1].gateway.Overview().Endpoints[0].Budget.Blocks
		if len(blocks) != 1 {
			t.Errorf("the other replica knows the blocks %v", blocks)
		}
	})
}

// An operator must be able to delete a conversation, or a person's data, at any replica.
func TestOperatorDeletesAtAnyReplica(t *testing.T) {
	for _, erase := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := fleet(t, 2, false, nil)
			r[0].answers["a"] = "one " + strings.Repeat("two ", 200)
			r[0].say(t, ask("a"))
			later(time.Second)
			c := chat.Conversation{Endpoint: "tg", Chat: "7"}
			err := r[0].store.Choose(t.Context(), c, "other")
			if err != nil {
				t.Fatal(err)
			}
			if erase {
				_, err = r[1].gateway.Erase(t.Context(), chat.Person{Endpoint: "tg", User: "7"})
			} else {
				err = r[1].gateway.Forget(t.Context(), c)
			}
			if err != nil {
				t.Fatal(err)
			}
			later(time.Second)
			if _, ended := r[0].runs(); ended != 1 {
				t.Error("the turn goes on")
			}
			later(10 * time.Second)
			if s, entries, err := r[0].store.Session(t.Context(), c); err != nil || len(entries) > 0 || s.Model != "" && !erase {
				t.Errorf("the session is %+v with %v, %v", s, entries, err)
			}
			if got := r[0].sees(); len(got) != 1 || slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "▌") }) {
				t.Errorf("people see %q", got)
			}
		})
	}
}

// The store refuses to store the beginning of a turn, because the lease has ended. The replica must then not call the model.
// When the replica has a new lease, it must answer the question.
func TestReplicaWithoutLeaseAsksNoModel_F41(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 1, true, nil)[0]
		r.store.lost = 2
		r.say(t, ask("a"))
		later(30 * time.Second)
		if begun, _ := r.runs(); begun != 1 {
			t.Errorf("the model was asked %d times, want once", begun)
		}
		equal(t, "people see", r.sees(), []string{"re: a"})
	})
}
