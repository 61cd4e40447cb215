package slack

import (
	"context"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// reorderDelay is how long a delivery waits for the deliveries of older messages. Slack uses a separate connection
// for each delivery, so an older message may arrive later than a newer one.
const reorderDelay = 50 * time.Millisecond

// arrivalOrder sorts the messages of a chat by the times at which people wrote them. Slack delivers messages in
// parallel, and each delivery waits a short time for the deliveries of older messages.
type arrivalOrder struct {
	mu      sync.Mutex
	waiting []*waiter
}

// waiter is a waiting delivery.
type waiter struct {
	chat chat.ChatID
	ts   string
	left chan struct{} // closed when the delivery has been handled
}

// enter waits until no delivery of an older message of the chat is waiting, or until ctx ends. The caller must call
// leave when it has handled its delivery.
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

// olderThan returns a waiting delivery of an older message of the same chat, or nil if there is none.
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
