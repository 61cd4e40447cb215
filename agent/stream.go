package agent

import (
	"context"
	"errors"
	"iter"
)

var (
	errBrokenOut = errors.New("the reader of the stream went away")
	errRanBefore = errors.New("the stream was read before")
)

// Stream is a turn to be read as an iterator. It belongs to one goroutine.
type Stream struct {
	run    func(yield func(Event, error) bool)
	began  bool
	result Result
}

// Stream prepares a turn. Nothing happens, and nothing needs to be freed, until Events is
// ranged over.
func (a *Agent) Stream(ctx context.Context, t Turn) *Stream {
	s := &Stream{}
	s.run = func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		out := false
		result, err := a.Run(ctx, t, func(e Event) {
			if !out && !yield(e, nil) {
				out = true
				cancel(errBrokenOut)
			}
		})
		s.result = result
		if err != nil && !out {
			yield(nil, err)
		}
	}
	return s
}

// Events runs the turn inside the loop that ranges over it, in that loop's goroutine: a body
// that takes its time holds the model back. A turn that failed ends with one (nil, error) pair
// as described at Run. Breaking out cancels the turn and waits for it. A stream runs once.
func (s *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if s.began {
			yield(nil, errRanBefore)
			return
		}
		s.began = true
		s.run(yield)
	}
}

// Result returns the outcome of the turn, once the loop over Events has ended in any way; zero
// before.
func (s *Stream) Result() Result { return s.result }
