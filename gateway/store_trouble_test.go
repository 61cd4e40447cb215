package gateway_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// broken is a store in which the listed calls fail, as on a full disk.
type broken struct {
	gateway.Store
	mu    sync.Mutex
	fails []string
}

func (b *broken) set(fails ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails = fails
}

func (b *broken) err(name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(b.fails, name) {
		return errStore
	}
	return nil
}

func (b *broken) Unfinished(ctx context.Context) ([]chat.Turn, error) {
	if err := b.err("unfinished"); err != nil {
		return nil, err
	}
	return b.Store.Unfinished(ctx)
}

func (b *broken) Begin(ctx context.Context, t chat.Turn) error {
	if err := b.err("begin"); err != nil {
		return err
	}
	return b.Store.Begin(ctx, t)
}

func (b *broken) Decide(ctx context.Context, turn string, d chat.Decision) error {
	if err := b.err("decide"); err != nil {
		return err
	}
	return b.Store.Decide(ctx, turn, d)
}

func (b *broken) End(ctx context.Context, turn string, g chat.Growth) error {
	if err := b.err("end"); err != nil {
		return err
	}
	return b.Store.End(ctx, turn, g)
}

func (b *broken) Drop(ctx context.Context, c chat.Conversation, ids ...chat.MessageID) error {
	if err := b.err("drop"); err != nil {
		return err
	}
	return b.Store.Drop(ctx, c, ids...)
}

func (b *broken) Session(ctx context.Context, c chat.Conversation) (chat.Session, []chat.Entry, error) {
	if err := b.err("session"); err != nil {
		return chat.Session{}, nil, err
	}
	return b.Store.Session(ctx, c)
}

// trouble begins a process whose store can be made to fail.
func (l *life) trouble(t *testing.T, change func(*gateway.Options)) *broken {
	t.Helper()
	b := &broken{}
	l.begin(t, func(o *gateway.Options) {
		b.Store, o.Store = o.Store, b
		if change != nil {
			change(o)
		}
	})
	return b
}

// The store can't store the beginning of a turn. The question must be answered only when the store works again. If the
// question were answered earlier, the store would still list it as waiting, and the next process would answer it again.
func TestAQuestionIsAnsweredOnceAlthoughItsTurnCouldNotBeStored(t *testing.T) {
	for _, killed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := newLife()
			b := l.trouble(t, nil)
			b.set("begin")
			l.say(t, ask("hi"))
			later(3 * time.Second)
			l.say(t, command("help"))
			later(3 * time.Second)
			equal(t, "messages while the store fails", l.sees(), nil)
			if killed {
				l.kill()
				l.begin(t, nil)
			} else {
				b.set()
			}
			later(30 * time.Second)
			got := l.sees()
			if len(got) != 2 || !slices.Contains(got, "re: hi") {
				t.Errorf("people see %q, want the answer and the help", got)
			}
			l.kill()
			l.begin(t, nil)
			later(30 * time.Second)
			equal(t, "messages after a restart", l.sees(), got)
			l.nothingLeft(t)
		})
	}
}

// A database that restarts is unavailable for a moment, so the history of a question can't be read at first. The
// question must be answered once its history can be read.
func TestAQuestionIsAnsweredOnceItsHistoryCanBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		b := l.trouble(t, nil)
		b.set("session")
		l.say(t, ask("hi"))
		later(4 * time.Second)
		equal(t, "messages while the store fails", l.sees(), nil)
		b.set()
		later(5 * time.Second)
		equal(t, "messages", l.sees(), []string{"re: hi"})

		b.set("session")
		l.say(t, ask("hi again"))
		later(time.Minute)
		if got := l.sees(); len(got) != 2 || !strings.Contains(got[1], "went wrong") {
			t.Errorf("people see %q, want an error at last", got)
		}
	})
}

// A question waits because the store fails. The person must be told once that the question waits, and /stop must end
// the wait.
func TestQuestionThatWaitsForTheStoreCanBeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		b := l.trouble(t, nil)
		b.set("begin")
		l.say(t, ask("hi"))
		later(30 * time.Second)
		if got := l.sees(); len(got) != 1 || !strings.HasPrefix(got[0], "⚠️ I can't save anything just now") {
			t.Fatalf("people see %q, want a line", got)
		}
		l.say(t, command("stop"))
		later(5 * time.Second)
		b.set()
		later(30 * time.Second)
		equal(t, "messages", l.sees()[1:], []string{"Stopped."})
		l.nothingLeft(t)
	})
}

// A question waits because the store fails, and the person sends another message. The question and the new message must
// be answered together.
func TestANewMessageWhileAQuestionWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		b := l.trouble(t, nil)
		b.set("begin")
		l.say(t, ask("one"))
		later(3 * time.Second)
		l.say(t, ask("two"))
		later(3 * time.Second)
		b.set()
		later(30 * time.Second)
		equal(t, "messages", l.sees(), []string{"re: one\n\ntwo"})
		l.nothingLeft(t)
	})
}

// The store fails when an answer ends. When the store works again, the answer's history and usage must be stored
// exactly once, and before the next question goes to the model.
func TestAnEndingThatCouldNotBeStoredIsStoredLater(t *testing.T) {
	for name, fails := range map[string][]string{
		"decide": {"decide"}, "end": {"end"}, "both": {"decide", "end"}, "all": {"begin", "decide", "end", "drop"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLife()
				b := l.trouble(t, nil)
				l.script.result = func(r *agent.Result) {
					r.Usage = agent.Usage{Prompt: 10, Completion: 5}
				}
				l.say(t, ask("a"))
				later(500 * time.Millisecond)
				b.set(fails...)
				later(5 * time.Second)
				equal(t, "messages while the store fails", l.sees(), []string{long}) // people see the answer before it is stored
				l.say(t, ask("b"))
				later(time.Second)
				b.set()
				later(30 * time.Second)
				equal(t, "messages", l.sees(), []string{long, "re: b"})
				equal(t, "the turn after it", l.told(1), []string{"user: a", "assistant: " + long, "user: b"})
				used, err := l.store.Used(t.Context(), chat.UsageOf{})
				if err != nil || used.Prompt != 20 || used.Turns != 2 {
					t.Errorf("used %+v and %v, want 20 tokens of two turns", used, err)
				}
				l.nothingLeft(t)
			})
		})
	}
}

// The store fails while the daemon stops, and works again during the grace period. The daemon must repeat the failed
// write, and must stop in time.
func TestShutdownWhileAnEndingCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		b := l.trouble(t, nil)
		l.say(t, ask("a"))
		later(500 * time.Millisecond)
		b.set("decide", "end")
		later(10 * time.Second)
		began := time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			b.set()
		}()
		if err := l.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("stopping took %v", took)
		}
		l.nothingLeft(t)
		l.begin(t, nil)
		l.say(t, ask("b"))
		later(5 * time.Second)
		equal(t, "the turn after it", l.told(0), []string{"user: a", "assistant: " + long, "user: b"})
	})
}

// sleepy is a store that is slow to store records of existing messages.
type sleepy struct{ gateway.Store }

func (s sleepy) Record(ctx context.Context, turn string, parts ...chat.Part) error {
	if parts[0].State == chat.PartStands {
		time.Sleep(5 * time.Second)
	}
	return s.Store.Record(ctx, turn, parts...)
}

// D15: the store is slow because its disk is busy. The edits of a preview must not become slower.
func TestEditsAreNotHeldUpByTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Store = sleepy{memory.New()} })
		h.answers["a"] = strings.Repeat(long+" ", 8)
		h.say(t, ask("a"))
		later(6 * time.Second) // by then, the record of the create call is stored
		shown := map[string]bool{}
		for range 20 {
			later(200 * time.Millisecond)
			shown[h.sees()[0]] = true
		}
		if len(shown) < 4 {
			t.Errorf("in four seconds people saw %d texts: %v", len(shown), shown)
		}
		later(time.Minute) // until everything is stored
	})
}
