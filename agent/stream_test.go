package agent

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func newStream(t *testing.T, ctx context.Context, a answer) *Stream {
	t.Helper()
	ag, err := New(Options{Models: []ModelOptions{{Model: &script{answers: []answer{a}}}}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return ag.Stream(ctx, streamed)
}

// read ranges over a stream and returns its events. After the given number of events, read breaks out of the loop.
func read(s *Stream, most int) (events string, err error) {
	var seen []string
	for e, failed := range s.Events() {
		if failed != nil {
			return strings.Join(seen, " "), failed
		}
		seen = append(seen, show(e))
		if len(seen) == most {
			break
		}
	}
	return strings.Join(seen, " "), nil
}

func TestStreamReadToItsEnd(t *testing.T) {
	t.Parallel()
	usage := Usage{Prompt: 1, Completion: 2}
	s := newStream(t, t.Context(), answer{deltas: texts("a", "b"), c: Completion{Usage: &usage}})
	if got := s.Result(); got.Text != "" || got.Stop != "" {
		t.Errorf("result before reading: %+v", got)
	}
	events, err := read(s, -1)
	if want := `text:"a" text:"b"`; events != want || err != nil {
		t.Errorf("got %s, %v, want %s", events, err, want)
	}
	if got := s.Result(); got.Text != "ab" || got.Stop != StopDone || got.Usage != usage || got.ModelCalls != 1 {
		t.Errorf("result %+v", got)
	}
	if _, err := read(s, -1); !errors.Is(err, errReadTwice) {
		t.Errorf("read twice: %v", err)
	}
}

func TestStreamLoopLeftEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStream(t, t.Context(), answer{deltas: texts("a", "b", "c"), every: time.Second, hang: true})
		if events, err := read(s, 2); events != `text:"a" text:"b"` || err != nil {
			t.Errorf("got %s, %v", events, err)
		}
		if got := s.Result(); got.Text != "ab" || got.Stop != StopCancelled || !got.Partial || got.Elapsed != 2*time.Second {
			t.Errorf("result %+v", got)
		}
	})
}

func TestStreamFails(t *testing.T) {
	t.Parallel()
	s := newStream(t, t.Context(), answer{deltas: texts("a"), err: &ModelError{Kind: Auth, Err: errors.New("no")}})
	events, err := read(s, -1)
	var ae *Error
	if events != `text:"a"` || !errors.As(err, &ae) || ae.Reason != StopError {
		t.Errorf("got %s, %v", events, err)
	}
	if got := s.Result(); got.Text != "a" || got.Stop != StopError || !got.Partial {
		t.Errorf("result %+v", got)
	}
}

func TestStreamCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := newStream(t, ctx, answer{deltas: texts("a"), hang: true})
		events, err := read(s, -1)
		if events != `text:"a"` || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %s, %v", events, err)
		}
		if got := s.Result(); got.Text != "a" || got.Stop != StopCancelled {
			t.Errorf("result %+v", got)
		}
	})
}

func TestStreamReadByPull(t *testing.T) {
	t.Parallel()
	s := newStream(t, t.Context(), answer{deltas: texts("a", "b")}) // the reader stops before it reads b
	next, stop := iter.Pull2(s.Events())
	if e, err, ok := next(); !ok || err != nil || show(e) != `text:"a"` {
		t.Errorf("got %v, %v, %v", e, err, ok)
	}
	stop()
	if got := s.Result(); got.Text != "a" || got.Stop != StopCancelled {
		t.Errorf("result %+v", got)
	}
}
