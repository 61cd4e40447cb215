package gateway_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/internal/chat"
)

// When a replica stops, another replica must continue in its chats in less than a second.
func TestReplicaThatStopsHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 2, true, func(o *gateway.Options) { o.Busy = gateway.Queue })
		long := strings.Repeat("word ", 150)
		r[0].answers["a"] = long
		r[0].say(t, ask("a"))
		r[0].say(t, ask("b"))
		later(3 * time.Second)
		stopped := make(chan error, 1)
		go func() { stopped <- r[0].stop() }()
		later(500 * time.Millisecond)
		if r[0].receives() || !r[1].receives() {
			t.Errorf("receiving: %t and %t", r[0].receives(), r[1].receives())
		}
		for _, ended := r[0].runs(); ended == 0; _, ended = r[0].runs() {
			later(10 * time.Millisecond)
		}
		later(time.Second)
		if begun, _ := r[0].runs(); begun != 2 {
			t.Error("the reply stands still for more than a second")
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		later(time.Minute)
		equal(t, "people see", r[0].sees(), []string{strings.TrimSpace(long), "re: b"})
	})
}

// leave makes a replica stop. The returned channel receives the replica's error once the replica has stopped.
func (f *fellow) leave() <-chan error {
	stopped := make(chan error, 1)
	go func() { stopped <- f.stop() }()
	return stopped
}

// A replica that is stopping still completes its answers. The replica must get every event about these answers, such as
// /stop or an edit, and no event may be lost or handled twice.
func TestReplicaThatStopsReceivesEventsOfItsAnswers(t *testing.T) {
	conversation := chat.Conversation{Endpoint: "tg", Chat: "7"}
	say := func(in chat.Inbound) func(*testing.T, *fellow) {
		return func(t *testing.T, other *fellow) { t.Helper(); other.say(t, in) }
	}
	for _, c := range []struct {
		name  string
		busy  gateway.Busy
		does  func(*testing.T, *fellow)
		stops bool // the visible part of the answer stays, and the answer does not continue
		want  []string
	}{
		{name: "stop", does: say(command("stop")), stops: true},
		{name: "button", does: func(t *testing.T, other *fellow) {
			t.Helper()
			turns, err := other.store.Unfinished(t.Context())
			if err != nil || len(turns) != 1 {
				t.Fatalf("turns: %v, %v", turns, err)
			}
			other.say(t, pressing("stop:"+turns[0].ID))
		}, stops: true},
		{name: "edit", does: say(revised(chat.Edited, "m1", "b")), want: []string{"re: b"}},
		{name: "deletion", does: say(revised(chat.Deleted, "m1", "")), stops: true},
		{name: "order", does: func(t *testing.T, other *fellow) {
			t.Helper()
			if err := other.gateway.Forget(t.Context(), conversation); err != nil {
				t.Fatal(err)
			}
		}, stops: true},
		{name: "new question that interrupts", busy: gateway.Interrupt, does: say(ask("b")), stops: true, want: []string{"re: b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleet(t, 2, true, func(o *gateway.Options) {
					o.Grace, o.Busy = 30*time.Second, c.busy
					o.Texts = gateway.DefaultTexts()
					o.Texts[gateway.TextStopMark] = "■"
				})
				r[0].answers["a"] = "one " + strings.Repeat("two ", 200)
				r[0].say(t, revised(chat.Text, "m1", "a"))
				later(2 * time.Second)
				stopped := r[0].leave()
				later(500 * time.Millisecond)
				began := time.Now()
				c.does(t, r[1])
				_, ended := r[0].runs()
				for ; ended == 0 && time.Since(began) < time.Minute; _, ended = r[0].runs() {
					later(10 * time.Millisecond)
				}
				if took := time.Since(began); took > 200*time.Millisecond {
					t.Errorf("it took effect after %v", took)
				}
				if err := <-stopped; err != nil {
					t.Error(err)
				}
				later(time.Minute)
				got := r[0].sees()
				if c.stops && len(got) > 0 {
					if !strings.HasPrefix(got[0], "one two") || !strings.HasSuffix(got[0], "■") {
						t.Errorf("the stopped answer is %q", got[0])
					}
					got = got[1:]
				}
				equal(t, "people see besides", got, c.want)
			})
		})
	}
}

// A replica that is stopping must not begin a turn. New messages must wait for the next owner of the chat, which must
// get all events about these messages in their order.
func TestReplicaThatStopsBeginsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 2, true, func(o *gateway.Options) { o.Grace, o.Busy, o.MaxQueued = 30*time.Second, gateway.Queue, 10 })
		long := strings.TrimSpace(strings.Repeat("word ", 150))
		r[0].answers["a"] = long
		r[0].say(t, revised(chat.Text, "m1", "a"))
		later(2 * time.Second)
		stopped := r[0].leave()
		later(500 * time.Millisecond)
		threaded := func(in chat.Inbound) chat.Inbound {
			in.To.Thread = "t"
			return in
		}
		for _, m := range []chat.Inbound{
			revised(chat.Text, "m2", "b"), revised(chat.Text, "m3", "c"), revised(chat.Edited, "m2", "b2"), // in the running turn's conversation
			threaded(revised(chat.Text, "m4", "d")), threaded(revised(chat.Text, "m5", "e")), threaded(revised(chat.Deleted, "m4", "")), // in another conversation of the chat
		} {
			r[1].say(t, m)
			later(150 * time.Millisecond)
		}
		later(time.Second)
		if begun, ended := r[0].runs(); begun != 1 || ended != 0 {
			t.Errorf("%d turns were begun and %d have ended while the replica stops", begun, ended)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		last := r[0].last()
		later(time.Minute)
		if !r[0].last().Equal(last) {
			t.Error("the stopped replica made calls")
		}
		got := r[0].sees()
		threads := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s != "re: e" && s != "re: d" })
		equal(t, "people see in the thread", threads, []string{"re: e"})
		equal(t, "people see elsewhere", slices.DeleteFunc(got, func(s string) bool { return slices.Contains(threads, s) }), []string{long, "re: b2", "re: c"})
	})
}

// waiting is a Runner that waits for a person's decision.
type waiting struct{ runs atomic.Int32 }

func (r *waiting) Run(ctx context.Context, t agent.Turn, _ func(agent.Event)) (agent.Result, error) {
	r.runs.Add(1)
	_, err := t.Approver.Approve(ctx, agent.Proposal{Call: agent.ToolCall{ID: "c"}, Tool: "x", Text: "x", Whole: "x", Version: "1"})
	return agent.Result{Stop: agent.StopCancelled}, err
}

// F37: a replica is stopping. The replica has handed over a turn that waits for a person, and is still showing the
// answer to a command. A /stop that reaches this replica must end the turn that was handed over. If the replica can't
// read this turn from the store, the /stop must wait for the next replica.
func TestReplicaThatStopsEndsWhatItHandedOver(t *testing.T) {
	for name, fails := range map[string][]string{"the store works": nil, "turns can't be read": {"unfinished"}} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { stopWhatWasHandedOver(t, fails...) }) })
	}
}

func stopWhatWasHandedOver(t *testing.T, fails ...string) {
	asked, store := &waiting{}, &broken{}
	r := fleet(t, 2, true, func(o *gateway.Options) {
		o.Grace, o.Runner = 30*time.Second, asked
		if store.Store == nil { // only the first replica gets this store
			store.Store = o.Store
			o.Store = store
		}
	})
	r[0].say(t, ask("a"))
	later(3 * time.Second)
	r[0].refusing(func(op chat.Op, text string) error {
		if op == chat.OpSend && strings.Contains(text, "/new") {
			return &chat.SendError{Kind: chat.Temporary, Err: errAway}
		}
		return nil
	})
	r[0].say(t, command("help"))
	later(time.Second)
	stopped := r[0].leave()
	later(500 * time.Millisecond)
	store.set(fails...)
	r[1].say(t, command("stop"))
	later(time.Second)
	r[0].refusing(nil)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	later(time.Minute)
	if n := asked.runs.Load(); n != 1 {
		t.Errorf("the turn ran %d times, want once", n)
	}
	if got := strings.Join(r[0].sees(), "\n"); strings.Count(got, "Stopped.") != 1 || strings.Contains(got, "x\n") {
		t.Errorf("people see %q", got)
	}
	if n := unfinished(t, r[1].store); n != 0 {
		t.Errorf("%d turns have not ended", n)
	}
}

// A replica that is stopping leaves a turn that waits for a person's decision to the next replica. Before the question
// is visible, a new message reaches the stopping replica. The turn must be handed over in spite of this message, so
// that people see only one question.
func TestReplicaThatStopsHandsOverAlthoughANewMessageComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := &waiting{}
		r := fleet(t, 2, true, func(o *gateway.Options) { o.Grace, o.Runner = 30*time.Second, asked })
		r[0].say(t, ask("a"))
		later(latency / 4) // the question is being sent
		stopped := r[0].leave()
		later(latency / 4)
		r[1].say(t, ask("b"))
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		later(10 * time.Second)
		if n := strings.Count(strings.Join(r[0].sees(), "\n"), "Allow this?"); n != 1 || asked.runs.Load() < 2 {
			t.Errorf("people see %d questions after %d runs: %q", n, asked.runs.Load(), r[0].sees())
		}
	})
}
