package preview

import (
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// ended is a state whose reply ended at now with this final.
func ended(now time.Time, text string) *state {
	s := &state{dialect: markup.Plain{}, limit: 100, canEdit: true, canDelete: true}
	s.end(&Ending{Text: text}, now)
	return s
}

// D4: a refusal that is told after the deadline still says when to come back.
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
	for range longSilence - 6 {
		temporary(5 * time.Second)
	}
	for range 100 {
		temporary(time.Minute)
	}
	s.settle(action{kind: doSend}, chat.Receipt{Ref: chat.MessageRef{ID: "1"}}, nil, now)
	temporary(500 * ms)
}

// D6: a part that was sent again in place of a deleted one is a part like any other.
func TestResentPartIsNotDeleted(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := ended(now, "final")
	s.parts = []part{{gone: true, ref: chat.MessageRef{ID: "1"}}}
	a := s.next(now)
	if a.kind != doSend {
		t.Fatalf("next action %d, want a send", a.kind)
	}
	s.settle(a, chat.Receipt{Ref: chat.MessageRef{ID: "2"}}, nil, now)
	if s.parts = append(s.parts, part{exists: true}); s.deleted(0, 2) {
		t.Error("the part that was sent again counts as deleted")
	}
}
