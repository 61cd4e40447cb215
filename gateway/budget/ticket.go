package budget

import (
	"cmp"
	"context"
	"slices"
	"time"

	"telex/internal/chat"
)

// Ticket is a place in the queue. Its holder waits for Ready, makes the call, and says Done;
// or it gives up with Cancel.
type Ticket struct {
	budget  *Budget
	call    chat.Call
	seq     uint64
	ready   chan struct{}
	granted bool
	uses    []*use
}

// Ready is closed when the call may be made. The call must start at once.
func (t *Ticket) Ready() <-chan struct{} { return t.ready }

// Raise makes a waiting call more urgent. It has no effect on a granted one.
func (t *Ticket) Raise(c chat.Class) {
	b := t.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if !t.granted && c < t.call.Class {
		t.call.Class = c
		b.dispatch()
	}
}

// Done says that the call has ended, whatever came of it: from now on the platform counts it
// for one more window.
func (t *Ticket) Done() {
	b := t.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for _, u := range t.uses {
		u.end = now
	}
	b.dispatch()
}

// Cancel leaves the queue. A ticket that was granted in the meantime counts as spent: it is
// too late to tell who could have had it.
func (t *Ticket) Cancel() {
	b := t.budget
	b.mu.Lock()
	i := slices.Index(b.waiting, t)
	if i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
	b.mu.Unlock()
	if i < 0 {
		t.Done()
	}
}

// Wait blocks until the call may be made or ctx ends; then it returns the context's cause
// and the ticket is cancelled.
func (t *Ticket) Wait(ctx context.Context) error {
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
		t.Cancel()
		return context.Cause(ctx)
	}
}

// compare orders tickets by class, then by age of content, then by arrival.
func compare(a, b *Ticket) int {
	return cmp.Or(
		cmp.Compare(a.call.Class, b.call.Class),
		a.call.Since.Compare(b.call.Since),
		cmp.Compare(a.seq, b.seq),
	)
}
