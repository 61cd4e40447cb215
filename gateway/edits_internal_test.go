package gateway

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
)

// slate is a Deliveries store that is slow.
type slate struct {
	takes time.Duration
	mu    sync.Mutex
	texts []string
}

func (s *slate) Record(_ context.Context, turn string, parts ...chat.Part) error {
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range parts {
		s.texts = append(s.texts, turn+" "+p.Text)
	}
	return nil
}

func (s *slate) stored() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.texts))
}

func onSlate(t *testing.T, takes time.Duration) (*slate, *edits) {
	s := &slate{takes: takes}
	return s, newEdits(t.Context(), s, slog.New(slog.DiscardHandler))
}

// D15: several messages are edited several times. The records must be stored together, and only the newest record of
// each message.
func TestEditsAreStoredTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := onSlate(t, 200*time.Millisecond)
		for _, text := range []string{"one", "two", "three"} {
			e.later("a", chat.Part{Text: text})
			e.later("b", chat.Part{Text: text})
			time.Sleep(editsEvery / 4)
		}
		if got := s.stored(); got != nil {
			t.Errorf("stored %q before it was time", got)
		}
		time.Sleep(editsEvery + 200*time.Millisecond)
		if got, want := s.stored(), []string{"a three", "b three"}; !slices.Equal(got, want) {
			t.Errorf("stored %q, want %q", got, want)
		}
		e.later("a", chat.Part{Text: "four"})
		e.close(t.Context())
		if got := s.stored(); !slices.Contains(got, "a four") || len(got) != 3 {
			t.Errorf("stored %q, want what came last as well", got)
		}
	})
}

// The method before must drop a waiting record of a message, and wait for a record that is being stored. Once the
// method before has returned, no older record of this message may be stored.
func TestNoEditIsStoredAfterAnAwaitedRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := onSlate(t, 5*time.Second)
		e.later("a", chat.Part{Text: "waits"})
		_ = e.before(t.Context(), "a", 0)
		e.later("a", chat.Part{Text: "is being stored"})
		time.Sleep(editsEvery + time.Second)
		began := time.Now()
		_ = e.before(t.Context(), "b", 0) // for another message, the method before must not wait
		if d := time.Since(began); d > 0 {
			t.Errorf("another message waits %v", d)
		}
		_ = e.before(t.Context(), "a", 0)
		if got, want := s.stored(), []string{"a is being stored"}; !slices.Equal(got, want) {
			t.Errorf("stored %q, want %q", got, want)
		}
		time.Sleep(time.Minute)
		e.close(t.Context())
		if got := s.stored(); len(got) != 1 {
			t.Errorf("stored %q, want nothing more", got)
		}
	})
}

// While the store hangs, the methods before and close must return when their context ends, so that the process can end.
func TestEditsWhileTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, e := onSlate(t, time.Hour)
		e.later("a", chat.Part{Text: "hangs"})
		time.Sleep(time.Second)
		e.later("a", chat.Part{Text: "waits"})
		ctx, cancel := context.WithTimeout(t.Context(), lastWait)
		defer cancel()
		began := time.Now()
		if err := e.before(ctx, "a", 0); err == nil {
			t.Error("it says that nothing older is being stored")
		}
		e.close(ctx)
		if d := time.Since(began); d != lastWait {
			t.Errorf("it took %v, want %v", d, lastWait)
		}
		time.Sleep(3 * time.Hour) // by then the store works again
	})
}
