package budget

import (
	"cmp"
	"slices"
	"time"

	"telex/internal/chat"
)

// Ticket is a place in the queue. Its holder waits for Ready, makes the call, and says Done;
// or it gives up with Cancel. Only the first of the two counts.
type Ticket struct {
	budget *Budget
	call   chat.Call
	keys   []scopeKey
	seq    uint64
	ready  chan struct{}
	meters []*meter // that count the call; set by the grant, nil once it has ended
}

// Ready is closed when the call may be made. The call must start at once.
func (t *Ticket) Ready() <-chan struct{} { return t.ready }

// Done says that the call has ended, whatever came of it: from now on the platform counts it
// for one more window.
func (t *Ticket) Done() { t.leave((*meter).end) }

// Cancel leaves the queue. What was granted in the meantime is given back.
func (t *Ticket) Cancel() { t.leave((*meter).giveBack) }

// leave takes the ticket out of the queue, or settles its grant in each meter.
func (t *Ticket) leave(settle func(*meter, time.Time)) {
	b := t.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, t); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
	now := time.Now()
	for _, m := range t.meters {
		settle(m, now)
	}
	t.meters = nil
	b.dispatch(now)
}

// compare orders tickets by class, then by age of content, then by arrival.
func compare(a, b *Ticket) int {
	return cmp.Or(
		cmp.Compare(a.call.Class, b.call.Class),
		a.call.Since.Compare(b.call.Since),
		cmp.Compare(a.seq, b.seq),
	)
}
