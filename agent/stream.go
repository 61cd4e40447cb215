package agent

import (
	"context"
	"errors"
	"iter"
)

var (
	errReaderLeft = errors.New("the reader of the stream went away")
	errReadTwice  = errors.New("the stream was read before")
)

// Stream is a turn whose events are read by an iterator. Stream must not be used by several goroutines.
type Stream struct {
	run     func(yield func(Event, error) bool)
	started bool
	result  Result
}

// Stream prepares a turn. The turn begins when the caller ranges over Events. Until the caller does so, the Stream holds no
// resources.
func (a *Agent) Stream(ctx context.Context, t Turn) *Stream {
	s := &Stream{}
	s.run = func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		out := false
		result, err := a.Run(ctx, t, func(e Event) {
			if !out && !yield(e, nil) {
				out = true
				cancel(errReaderLeft)
			}
		})
		s.result = result
		if err != nil && !out {
			yield(nil, err)
		}
	}
	return s
}

// Events returns an iterator over the events of the turn. The turn runs in the goroutine of the loop that ranges over the
// iterator, so a slow loop body slows the model down. If the turn fails, the last pair of the iterator is nil and the error
// of Run. Breaking out of the loop cancels the turn and waits until the turn has ended. A stream can be read only once.
func (s *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if s.started {
			yield(nil, errReadTwice)
			return
		}
		s.started = true
		s.run(yield)
	}
}

// Result returns the outcome of the turn after the loop over Events has ended, and a zero Result before.
func (s *Stream) Result() Result { return s.result }
