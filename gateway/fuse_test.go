package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
)

// fuse is a store that kills its process at a certain write, right before or right after the write takes effect.
type fuse struct {
	gateway.Store
	platform *platform

	mu     sync.Mutex
	writes int // number of writes so far
	at     int // number of the write at which the process dies
	after  bool
	blown  bool
}

func (f *fuse) write(do func() error) error {
	f.mu.Lock()
	n := f.writes
	f.writes++
	blown := f.blown || n == f.at
	f.mu.Unlock()
	if !blown {
		return do()
	}
	if n == f.at && f.after {
		_ = do()
	}
	f.blow()
	return errDead
}

// state returns the number of writes so far, and whether the process has died.
func (f *fuse) state() (writes int, blown bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes, f.blown
}

// blow kills the process: its later writes have no effect.
func (f *fuse) blow() {
	f.mu.Lock()
	f.blown = true
	f.mu.Unlock()
	f.platform.mu.Lock()
	f.platform.cut = true
	f.platform.mu.Unlock()
}

func (f *fuse) Accept(ctx context.Context, c chat.Conversation, m chat.Inbound) (fresh bool, err error) {
	err = f.write(func() error {
		fresh, err = f.Store.Accept(ctx, c, m)
		return err
	})
	return fresh, err
}

func (f *fuse) Drop(ctx context.Context, c chat.Conversation, ids ...chat.MessageID) error {
	return f.write(func() error { return f.Store.Drop(ctx, c, ids...) })
}

func (f *fuse) Begin(ctx context.Context, t chat.Turn) error {
	return f.write(func() error { return f.Store.Begin(ctx, t) })
}

func (f *fuse) Decide(ctx context.Context, turn string, d chat.Decision) error {
	return f.write(func() error { return f.Store.Decide(ctx, turn, d) })
}

func (f *fuse) Note(ctx context.Context, turn string, steps ...chat.Step) error {
	return f.write(func() error { return f.Store.Note(ctx, turn, steps...) })
}

func (f *fuse) End(ctx context.Context, turn string, g chat.Growth) error {
	return f.write(func() error { return f.Store.End(ctx, turn, g) })
}

func (f *fuse) Record(ctx context.Context, turn string, parts ...chat.Part) error {
	return f.write(func() error { return f.Store.Record(ctx, turn, parts...) })
}

// The process is killed before or after each write of a turn with an approved tool call. The tool must run at most once, and
// only if it was approved. The next process must complete the answer in the same message, and leave nothing unfinished.
func TestKilledAtEachWrite(t *testing.T) { // D10
	writes := killedAt(t, -1, false)
	if writes < 10 {
		t.Fatalf("a turn makes %d writes: they are not counted", writes)
	}
	for at := range writes {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %t", at, after), func(t *testing.T) { killedAt(t, at, after) })
		}
	}
}

// killedAt runs the turn, and kills the process at the given write. killedAt returns the number of writes of this process.
func killedAt(t *testing.T, at int, after bool) (writes int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.takes = time.Second
		f := &fuse{platform: l.platform, at: at, after: after}
		l.open(t, func(o *gateway.Options) { f.Store, o.Store = o.Store, f })
		question := ask("light")
		question.ID = "q"
		said := l.offer(t, question)
		later(3 * time.Second)
		if b := l.button("approve:"); b != "" {
			l.offer(t, pressing(b))
		}
		later(10 * time.Second)
		var blown bool
		if writes, blown = f.state(); !blown { // the number of writes varies by one between runs, because some happen at the same moment
			equal(t, "messages", l.sees(), []string{switched})
			return
		}
		_ = l.stop()
		l.platform.mu.Lock()
		l.platform.cut = false
		l.platform.mu.Unlock()
		l.open(t, nil)
		if !said { // the platform delivers the question again
			l.say(t, question)
		}
		later(3 * time.Second)
		if b := l.button("approve:"); b != "" {
			l.say(t, pressing(b))
		}
		later(30 * time.Second)
		got := l.sees()
		if l.times() > 1 || len(got) == 0 || len(got) > 2 || got[len(got)-1] != switched {
			t.Errorf("ran %d times, sees %q\n%s", l.times(), got, l.log.String())
		}
		if l.times() == 0 {
			if told := l.told(); !strings.Contains(told, "not known") {
				t.Errorf("did not run, and the model was told %q", told)
			}
		}
		if len(got) == 2 && !strings.Contains(l.log.String(), "unknown outcome") { // a repeated create call must be logged
			t.Errorf("two messages, and no word of it: %q\n%s", got, l.log.String())
		}
		if left, _ := l.store.Unfinished(t.Context()); len(left) != 0 {
			t.Errorf("left: %+v", left)
		}
	})
	return writes
}

// offer delivers a message to a process that may die while it accepts the message. offer reports whether the process
// has accepted the message.
func (p *platform) offer(t *testing.T, in chat.Inbound) bool {
	t.Helper()
	p.mu.Lock()
	p.said++
	if in.ID == "" {
		in.ID = chat.MessageID(fmt.Sprint(p.said))
	}
	accept := p.accept
	p.mu.Unlock()
	return accept(t.Context(), in) == nil
}
