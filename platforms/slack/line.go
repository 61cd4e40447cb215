package slack

import (
	"context"
	"sync"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// inOrder is how long a request waits for those that overtook it on their way: what several people
// write at once, or one in pieces, comes by connections of its own.
const inOrder = 50 * time.Millisecond

// line lets what was written in a chat pass in the order of its writing. It is for deliveries that come
// side by side; each waits a moment for older ones.
type line struct {
	mu      sync.Mutex
	waiting map[waiter]int
	changed chan struct{} // closed and replaced when one leaves
}

// waiter is a delivery in line.
type waiter struct {
	chat chat.ChatID
	ts   string
}

// enter returns when no older delivery of the chat is in line, or ctx ends. The caller calls leave.
func (l *line) enter(ctx context.Context, in chat.ChatID, ts string) (leave func()) {
	w := waiter{in, ts}
	l.mu.Lock()
	if l.waiting == nil {
		l.waiting, l.changed = make(map[waiter]int), make(chan struct{})
	}
	l.waiting[w]++
	l.mu.Unlock()
	err := receiving.Sleep(ctx, inOrder)
	for err == nil {
		changed, free := l.look(w)
		if free {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.waiting[w]--; l.waiting[w] == 0 {
			delete(l.waiting, w)
		}
		close(l.changed)
		l.changed = make(chan struct{})
	}
}

// look says whether w is the oldest of its chat, and where a change will be told.
func (l *line) look(w waiter) (changed <-chan struct{}, free bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for other := range l.waiting {
		if other.chat == w.chat && later(w.ts, other.ts) {
			return l.changed, false
		}
	}
	return l.changed, true
}
