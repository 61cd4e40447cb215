package slack

import (
	"context"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// reorderDelay is how long a delivery waits for the deliveries of older messages. Slack uses a separate connection for
// each delivery, so an older message may arrive later than a newer message.
const reorderDelay = 50 * time.Millisecond

// arrivalOrder sorts the messages of a chat by the times at which people wrote them. Slack delivers messages in
// parallel, and each delivery waits a short time for the deliveries of older messages.
type arrivalOrder struct {
	mu      sync.Mutex
	waiting []*waiter
}

// waiter is a delivery of a message that waits for the deliveries of older messages.
type waiter struct {
	chat chat.ChatID
	ts   string
	left chan struct{} // closed when the delivery has been handled
}

// enter waits until no delivery of an older message of the chat is waiting, or until ctx ends. The caller must call the
// returned function leave when the caller has handled the message.
func (l *arrivalOrder) enter(ctx context.Context, in chat.ChatID, ts string) (leave func()) {
	w := &waiter{in, ts, make(chan struct{})}
	l.mu.Lock()
	l.waiting = append(l.waiting, w)
	l.mu.Unlock()
	_ = receiving.Sleep(ctx, reorderDelay) // ignore the error: if ctx has ended, the loop below ends at once
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

// olderThan returns a waiting delivery whose message is in the same chat as the message of w and older. If there is no
// such delivery, olderThan returns nil.
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
