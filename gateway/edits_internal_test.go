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

// slate is a store that takes a while.
type slate struct {
	takes time.Duration
	mu    sync.Mutex
	texts []string
}

func (s *slate) Record(_ context.Context, turn string, p chat.Part) error {
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts = append(s.texts, turn+" "+p.Text)
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

// D15: what edits showed is stored together for all, and of each message only the newest.
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
		e.close()
		if got := s.stored(); !slices.Contains(got, "a four") || len(got) != 3 {
			t.Errorf("stored %q, want what came last as well", got)
		}
	})
}

// Nothing older is stored after a record that is waited for, also when it is being stored at that time.
func TestEditsComeBeforeWhatIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := onSlate(t, 5*time.Second)
		e.later("a", chat.Part{Text: "waits"})
		e.before("a", 0)
		e.later("a", chat.Part{Text: "is being stored"})
		time.Sleep(editsEvery + time.Second)
		began := time.Now()
		e.before("b", 0) // has nothing to do with it
		if d := time.Since(began); d > 0 {
			t.Errorf("another message waits %v", d)
		}
		e.before("a", 0)
		if got, want := s.stored(), []string{"a is being stored"}; !slices.Equal(got, want) {
			t.Errorf("stored %q, want %q", got, want)
		}
		time.Sleep(time.Minute)
		e.close()
		if got := s.stored(); len(got) != 1 {
			t.Errorf("stored %q, want nothing more", got)
		}
	})
}
