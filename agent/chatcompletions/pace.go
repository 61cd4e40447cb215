package chatcompletions

import (
	"context"
	"io"
	"time"
)

const (
	// settled is how long a read takes at least that had to wait for data: what had come before
	// was read to its end.
	settled = time.Millisecond
	// ramp is the part of an answer's age that its text may be held back for at most, so that the
	// beginning is not.
	ramp = 10
)

// pacedReader reads a stream in gulps: once it has caught up with the stream, it lets the next
// pieces come together for a pace. Where a process has little else to do, being woken for each
// piece is most of what a piece costs. A stream that is faster than its reader is never held back.
type pacedReader struct {
	ctx   context.Context // of the request: its end is not waited over
	in    io.Reader
	pace  time.Duration
	began time.Time // when the first data came; zero: not yet
	wait  bool      // the last read caught up
}

func newPacedReader(ctx context.Context, in io.Reader, pace time.Duration) *pacedReader {
	return &pacedReader{ctx: ctx, in: in, pace: pace}
}

// Read implements io.Reader.
func (r *pacedReader) Read(p []byte) (int, error) {
	now := time.Now()
	if r.wait {
		now = r.rest(now)
	}
	n, err := r.in.Read(p)
	after := time.Now()
	r.wait = after.Sub(now) >= settled
	if r.began.IsZero() && n > 0 {
		r.began = after
	}
	return n, err
}

// rest waits until the next multiple of the pace, so that all streams are read at the same
// moments, and returns the time.
func (r *pacedReader) rest(now time.Time) time.Time {
	next := now.Truncate(r.pace).Add(r.pace)
	timer := time.NewTimer(min(next.Sub(now), now.Sub(r.began)/ramp))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ctx.Done(): // the read says so
	}
	return time.Now()
}
