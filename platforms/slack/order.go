package slack

import (
	"context"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// reorderDelay is how long a delivery waits for older deliveries. Each arrives on its own connection, so an older one
// may arrive later.
const reorderDelay = 50 * time.Millisecond

// arrivalOrder sorts the messages of a chat by the time of writing. Deliveries arrive in parallel, and each waits a
// short time for older ones.
type arrivalOrder struct {
	mu      sync.Mutex
	waiting []*waiter
}

// waiter is a waiting delivery.
type waiter struct {
	chat chat.ChatID
	ts   string
	left chan struct{} // closed when the delivery leaves
}

// enter returns when no older delivery of the chat is waiting, or ctx ends. The caller must call leave.
func (l *arrivalOrder) enter(ctx context.Context, in chat.ChatID, ts string) (leave func()) {
	w := &waiter{in, ts, make(chan struct{})}
	l.mu.Lock()
	l.waiting = append(l.waiting, w)
	l.mu.Unlock()
	_ = receiving.Sleep(ctx, reorderDelay) // if ctx has ended, the loop below ends at once
	for older := l.olderThan(w); older != nil && ctx.Err() == nil; older = l.olderThan(w) {
		select {
		case <-older.left:
		case <-ctx.Done():
		}
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.waiting = slices.DeleteFunc(l.waiting, func(other *waiter) bool { return other == w })
		close(w.left)
	}
}

// olderThan returns an older delivery of the same chat that is still waiting, or nil.
func (l *arrivalOrder) olderThan(w *waiter) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, other := range l.waiting {
		if other.chat == w.chat && isLater(w.ts, other.ts) {
			return other
		}
	}
	return nil
}
