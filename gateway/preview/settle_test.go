package preview

import (
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// ended returns the state of a reply that ended at the time now with the given final text.
func ended(now time.Time, text string) *state {
	s := &state{place: place{dialect: markup.Plain{}, limit: 100, ops: chat.OpEdit | chat.OpDelete}}
	s.end(&Ending{Text: text}, now)
	return s
}

// D4: a 429 that arrives after the deadline still reports its retry_after.
func TestRefusalAfterTheDeadline(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := ended(now, "final")
	late := now.Add(finalDeadline + time.Second)
	s.settle(s.next(now), chat.Receipt{}, &chat.SendError{Kind: chat.RateLimited, RetryAfter: time.Hour}, late)
	if got := s.next(late.Add(time.Hour)).kind; got != doSend {
		t.Errorf("next action %d after the retry_after, want a send", got)
	}
	if got := s.next(late.Add(time.Hour + finalDeadline + 1)).kind; got != doEnd {
		t.Errorf("next action %d after the deadline, want the end", got)
	}
}

func TestBackoffGrowsWithEachFailureInARow(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := ended(now, "one")
	temporary := func(want time.Duration) {
		t.Helper()
		s.settle(action{kind: doSend}, chat.Receipt{}, &chat.SendError{Kind: chat.Temporary}, now)
		if a := s.next(now); a.kind != doWait || a.until.Sub(now) != want {
			t.Errorf("waits %v, want %v", a.until.Sub(now), want)
		}
	}
	for _, want := range []time.Duration{500 * ms, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second} {
		temporary(want)
	}
	for range slowAfterFailures - 6 {
		temporary(5 * time.Second)
	}
	for range 100 {
		temporary(time.Minute)
	}
	s.settle(action{kind: doSend}, chat.Receipt{Ref: chat.MessageRef{ID: "1"}}, nil, now)
	temporary(500 * ms)
}

// D6: a message that was sent again after a deletion is treated like any other message.
func TestResentPartIsNotDeleted(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := ended(now, "final")
	s.parts = []message{{phase: gone, ref: chat.MessageRef{ID: "1"}}}
	a := s.next(now)
	if a.kind != doSend {
		t.Fatalf("next action %d, want a send", a.kind)
	}
	s.settle(a, chat.Receipt{Ref: chat.MessageRef{ID: "2"}}, nil, now)
	if s.parts = append(s.parts, message{phase: standing}); s.deleted(0, 2) {
		t.Error("the part that was sent again counts as deleted")
	}
}

// A create call is known to have made no message. The next create call must then count as the first one with its key,
// and may be repeated as often as any other. No property of the earlier call may apply to the next one, such as that
// the earlier call began a stream.
func TestACreateThatMadeNothingIsForgotten(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := ended(now, "final")
	s.ops, s.keyFor = s.ops|chat.OpFind|chat.OpStart, time.Minute
	s.parts = []message{{attempt: attempt{resolution: byFind, streams: true, firstAt: now.Add(-time.Hour)}}}
	step := func(want actionKind, err error) {
		t.Helper()
		now = now.Add(10 * time.Second)
		a := s.next(now)
		if a.kind != want {
			t.Fatalf("next action %d, want %d", a.kind, want)
		}
		r := chat.Receipt{}
		if a.kind == doSend && err == nil {
			r.Ref.ID = "1"
		}
		s.lastCall = now
		s.settle(a, r, err, now)
	}
	step(doFind, nil)
	step(doSend, &chat.SendError{Kind: chat.Uncertain})
	step(doSend, nil) // repeated with the same key, which the platform remembers
	step(doEnd, nil)  // nothing is left to do, because the message is not a stream
}

// While the bot stores how a reply ends, it accepts no other ending, so that the store and the visible messages agree.
func TestOneEndingIsDecidedAtATime(t *testing.T) {
	t.Parallel()
	s := NewSlot()
	stored := []string{}
	s.Decide(Ending{Text: "first"}, func() {
		stored = append(stored, "first")
		s.Decide(Ending{Text: "second"}, func() { stored = append(stored, "second") })
		s.Finish(Ending{Text: "third"})
	})
	equal(t, "stored", stored, []string{"first"})
	if got := s.Ending().Text; got != "first" {
		t.Errorf("the reply ends with %q, want what was stored", got)
	}
}
