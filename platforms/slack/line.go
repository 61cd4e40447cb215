package slack

import (
	"context"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// inOrder is how long a delivery waits for older ones, which it may have overtaken: each comes on a connection of its own.
const inOrder = 50 * time.Millisecond

// line puts the messages of a chat in the order of their writing. Deliveries arrive side by side; each waits a moment for
// older ones.
type line struct {
	mu      sync.Mutex
	waiting []*waiter
}

// waiter is a delivery in line.
type waiter struct {
	chat chat.ChatID
	ts   string
	left chan struct{} // closed when it leaves
}

// enter returns when no older delivery of the chat is in line, or ctx ends. The caller calls leave.
func (l *line) enter(ctx context.Context, in chat.ChatID, ts string) (leave func()) {
	w := &waiter{in, ts, make(chan struct{})}
	l.mu.Lock()
	l.waiting = append(l.waiting, w)
	l.mu.Unlock()
	_ = receiving.Sleep(ctx, inOrder) // what ends it ends the waiting below
	for older := l.before(w); older != nil && ctx.Err() == nil; older = l.before(w) {
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

// before returns an older delivery of the same chat that is still waiting, or nil.
func (l *line) before(w *waiter) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, other := range l.waiting {
		if other.chat == w.chat && later(w.ts, other.ts) {
			return other
		}
	}
	return nil
}
