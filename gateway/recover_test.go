package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// mortal is a store that a process uses until the test kills the process. Later writes of the killed process have no effect.
type mortal struct {
	gateway.Store
	mu   sync.Mutex
	dead bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) die() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
}

func (m *mortal) alive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	return nil
}

func (m *mortal) Decide(ctx context.Context, t string, d chat.Decision) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Store.Decide(ctx, t, d)
}

func (m *mortal) End(ctx context.Context, t string, g chat.Growth) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Store.End(ctx, t, g)
}

func (m *mortal) Note(ctx context.Context, t string, steps ...chat.Step) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Store.Note(ctx, t, steps...)
}

func (m *mortal) Begin(ctx context.Context, t chat.Turn) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Store.Begin(ctx, t)
}

func (m *mortal) Drop(ctx context.Context, c chat.Conversation, ids ...chat.MessageID) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Store.Drop(ctx, c, ids...)
}

func (m *mortal) Release(ctx context.Context, t string, used ...chat.Usage) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Store.Release(ctx, t, used...)
}

func (m *mortal) Record(ctx context.Context, t string, parts ...chat.Part) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Store.Record(ctx, t, parts...)
}

// life runs several processes of the gateway, one after the other, with the same platform and store.
type life struct {
	store    *memory.Store
	platform *platform
	mortal   *mortal
	script   *script
	house
}

func (l *life) begin(t *testing.T, change func(*gateway.Options)) {
	t.Helper()
	l.mortal = &mortal{Store: l.store}
	l.script = &script{answers: map[string]string{"a": long}, stop: map[string]agent.StopReason{}}
	l.house = openWith(t, house{platform: l.platform, script: l.script}, func(o *gateway.Options) {
		o.Store = l.mortal
		if change != nil {
			change(o)
		}
	})
}

// kill kills the process without a shutdown. After the method kill has returned, neither the calls of the killed process to
// the platform nor its writes have any effect.
func (l *life) kill() {
	l.mortal.die()
	l.platform.mu.Lock()
	l.platform.cut = true
	l.platform.mu.Unlock()
	_ = l.stop()
	l.platform.mu.Lock()
	l.platform.cut = false
	l.platform.mu.Unlock()
}

func newLife() *life { return &life{store: memory.New(), platform: newPlatform()} }

func TestKilledWhileTheModelWrites(t *testing.T) { // D10
	for _, at := range []time.Duration{10, 60, 150, 400, 1100, 1500} {
		synctest.Test(t, func(t *testing.T) {
			l := newLife()
			l.begin(t, nil)
			l.say(t, ask("a"))
			later(at * time.Millisecond)
			l.kill()
			l.begin(t, nil)
			later(10 * time.Second)
			equal(t, "messages", l.sees(), []string{long})
			if left, _ := l.store.Unfinished(t.Context()); len(left) != 0 {
				t.Errorf("killed after %v ms: turns are left: %+v", at, left)
			}
			l.say(t, ask("b"))
			later(5 * time.Second)
			if m := l.script.turns[len(l.script.turns)-1].Messages; len(m) != 3 || m[1].Text != long {
				t.Errorf("history after the restart: got %+v", m)
			}
		})
	}
}

func TestGracefulRestartFinishesTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.script.answers["a"] = strings.Repeat("word ", 200) + "end"
		l.say(t, ask("a"))
		l.say(t, ask("b"))
		later(800 * time.Millisecond)
		_ = l.stop()
		for _, s := range l.sees() {
			if strings.Contains(s, "▌") {
				t.Errorf("a cursor stays over the restart: %q", s)
			}
		}
		l.begin(t, nil)
		later(10 * time.Second)
		if got := l.sees(); len(got) != 1 {
			t.Errorf("got %q, want everything in one message", got)
		}
	})
}

// The daemon is stopped and started many times during one turn. The turn must be completed in the end, because a
// shutdown does not count as a crash.
func TestManyGracefulRestartsFinishTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		for i := range 8 {
			l.begin(t, nil)
			if i == 0 {
				l.say(t, ask("a"))
			}
			later(300 * time.Millisecond)
			_ = l.stop()
		}
		l.begin(t, nil)
		later(time.Minute)
		equal(t, "messages", l.sees(), []string{long})
	})
}

func TestWaitingMessageIsAnsweredAfterARestart(t *testing.T) { // F44
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		queue := func(o *gateway.Options) { o.Busy = gateway.Queue }
		l.begin(t, queue)
		l.say(t, ask("a"))
		l.say(t, ask("b"))
		later(800 * time.Millisecond)
		l.kill()
		l.begin(t, queue)
		later(10 * time.Second)
		equal(t, "messages", l.sees(), []string{long, "re: b"})
	})
}

func TestDecidedTurnIsDelivered(t *testing.T) { // F17
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		in := ask("a")
		in.ID = "m1"
		c := chat.Conversation{Endpoint: "tg", Chat: "7"}
		ending, err := json.Marshal(preview.Ending{Text: "the **whole** answer"})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = l.store.Accept(t.Context(), c, in)
		_ = l.store.Begin(t.Context(), chat.Turn{ID: "t1", Conversation: c, To: in.To, Messages: []chat.Inbound{in}, Began: time.Now()})
		l.platform.messages = []*shown{{id: "1000", to: in.To, versions: []string{"the who▌"}}}
		_ = l.store.Record(t.Context(), "t1", chat.Part{
			State: chat.PartStands, Ref: chat.MessageRef{Target: in.To, ID: "1000"}, Text: "the who", Cursor: true, Source: "the who",
		})
		_ = l.store.Decide(t.Context(), "t1", chat.Decision{Ending: ending})
		l.begin(t, nil)
		later(5 * time.Second)
		equal(t, "messages", l.sees(), []string{"the whole answer"})
		if len(l.script.turns) != 0 {
			t.Error("the model was asked again")
		}
	})
}

func TestTooOldTurnIsClosedWithANote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, ask("a"))
		later(800 * time.Millisecond)
		l.kill()
		before := l.sees()[0]
		later(time.Hour)
		l.begin(t, nil)
		later(5 * time.Second)
		got := l.sees()
		if len(got) != 1 || !strings.HasPrefix(got[0], strings.TrimSuffix(before, "▌")) || !strings.Contains(got[0], "I was interrupted here") {
			t.Errorf("got %q, want what was shown and the note", got)
		}
		if len(l.script.turns) != 0 {
			t.Error("the model was asked again")
		}
	})
}

func TestALateMessageGetsANote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		in := ask("a")
		in.ID = "m1"
		_, _ = l.store.Accept(t.Context(), chat.Conversation{Endpoint: "tg", Chat: "7"}, in)
		later(time.Hour)
		l.begin(t, nil)
		later(5 * time.Second)
		if got := l.sees(); len(got) != 1 || !strings.HasPrefix(got[0], "I was away") {
			t.Errorf("got %q, want the note", got)
		}
	})
}

func TestTurnThatKillsEveryProcessIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, ask("a"))
		asked := 0
		for range 5 {
			later(800 * time.Millisecond)
			asked += len(l.script.turns)
			l.kill()
			l.begin(t, nil)
		}
		later(5 * time.Second)
		got := l.sees()
		if len(got) != 1 || !strings.Contains(got[0], "Something went wrong here") {
			t.Errorf("got %q, want one message that says so", got)
		}
		if asked != 3 {
			t.Errorf("the model was asked %d times, want 3", asked)
		}
	})
}

func TestAnInterruptedTurnIsNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, ask("a"))
		later(800 * time.Millisecond)
		l.say(t, command("stop"))
		l.kill()
		l.begin(t, nil)
		later(5 * time.Second)
		got := l.sees()
		if len(got) == 0 || got[0] != "one"+stoppedMark || slices.Contains(got, long) {
			t.Errorf("got %q, want what was shown when it was stopped, without a cursor", got)
		}
	})
}

func TestCommandAnswersSurvive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, command("help"))
		later(10 * time.Millisecond)
		l.kill()
		l.begin(t, nil)
		later(5 * time.Second)
		if got := l.sees(); len(got) == 0 || !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "/new") }) {
			t.Errorf("got %q, want the help", got)
		}
	})
}

func TestBlocksSurvive(t *testing.T) { // D4
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		_ = l.store.SaveBlock(t.Context(), "tg", chat.Block{Scope: chat.ScopeChat, Chat: "7", Until: time.Now().Add(time.Minute)})
		l.begin(t, nil)
		l.say(t, ask("hi"))
		later(59 * time.Second)
		equal(t, "while blocked", l.sees(), nil)
		later(3 * time.Second)
		equal(t, "after", l.sees(), []string{"re: hi"})
	})
}

// D9, D10: a person stops a reply whose final can't be shown yet. The store must record that the reply was stopped, so that
// the final is not shown after a restart.
func TestAStopIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, ask("a"))
		later(400 * time.Millisecond)
		l.platform.mu.Lock()
		l.platform.hangs = true
		l.platform.mu.Unlock()
		later(5 * time.Second)
		l.say(t, command("stop"))
		later(10 * time.Millisecond)
		var e preview.Ending
		left, err := l.store.Unfinished(t.Context())
		if err != nil || len(left) == 0 || json.Unmarshal(left[0].Ending, &e) != nil || !e.Keep {
			t.Errorf("the store has %+v, %v, want one turn that stays as it is", left, err)
		}
	})
}

func TestABlockIsStored(t *testing.T) { // D4
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.platform.mu.Lock()
		l.platform.fail = &chat.SendError{Kind: chat.RateLimited, RetryAfter: time.Minute, Scope: chat.ScopeChat}
		l.platform.mu.Unlock()
		l.say(t, ask("hi"))
		later(10 * time.Second)
		blocks, err := l.store.Blocks(t.Context(), "tg")
		if err != nil || len(blocks) != 1 || time.Until(blocks[0].Until) < 49*time.Second {
			t.Errorf("the store has %+v, %v, want what the platform said", blocks, err)
		}
	})
}

func TestAMovedChatKeepsItsHistory(t *testing.T) { // F54
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, ask("one"))
		later(3 * time.Second)
		l.platform.mu.Lock()
		l.platform.fail = &chat.SendError{Kind: chat.Moved, Moved: "-100"}
		l.platform.mu.Unlock()
		time.AfterFunc(120*time.Millisecond, func() {})
		l.say(t, ask("two"))
		later(160 * time.Millisecond)
		l.platform.mu.Lock()
		l.platform.fail = nil
		l.platform.mu.Unlock()
		later(5 * time.Second)
		in := ask("three")
		in.To.Chat = "-100"
		l.say(t, in)
		later(5 * time.Second)
		m := l.script.turns[len(l.script.turns)-1].Messages
		if len(m) != 5 {
			t.Errorf("the new chat knows %d messages, want 5: %+v", len(m), m)
		}
	})
}
