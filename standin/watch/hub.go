package watch

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
)

// Hub sends events to the watchers. The zero value is ready to use. Publish never waits for a watcher, so the caller
// may hold any lock.
type Hub[E any] struct {
	mu       sync.Mutex
	seq      int64
	watchers map[*watcher[E]]struct{}
	ended    bool
}

// event is an event with its number, counted from 1.
type event[E any] struct {
	seq  int64
	what E
}

// watcher is a queue of events for one reader. The queue is unbounded, so a slow reader loses no events and does not
// slow down the stand-in.
type watcher[E any] struct {
	mu    sync.Mutex
	queue []event[E]
	ended bool
	wake  chan struct{} // signals that the field queue or ended changed; capacity 1
}

func (w *watcher[E]) push(e event[E]) {
	w.mu.Lock()
	w.queue = append(w.queue, e)
	w.mu.Unlock()
	w.signal()
}

func (w *watcher[E]) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.signal()
}

func (w *watcher[E]) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watcher[E]) drain() (events []event[E], ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	events, w.queue = w.queue, nil
	return events, w.ended
}

// Publish sends an event to all watchers. Publish calls the function build with the event's number to make the event,
// but only if there is a watcher. The event that build returns must not share memory with the stand-in.
func (h *Hub[E]) Publish(build func(seq int64) E) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	if len(h.watchers) == 0 {
		return
	}
	e := event[E]{h.seq, build(h.seq)}
	for w := range h.watchers {
		w.push(e)
	}
}

// Close ends the event sequences. A watcher still receives the events that were published before.
func (h *Hub[E]) Close() {
	h.mu.Lock()
	h.ended = true
	watchers := slices.Collect(maps.Keys(h.watchers))
	h.mu.Unlock()
	for _, w := range watchers {
		w.end()
	}
}

// enter adds a watcher. leave removes the watcher, and may be called more than once.
func (h *Hub[E]) enter() (w *watcher[E], leave func()) {
	w = &watcher[E]{wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = make(map[*watcher[E]]struct{})
	}
	if h.ended {
		w.end()
	}
	h.watchers[w] = struct{}{}
	return w, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, w)
	}
}

// Watch returns all events from now on, until ctx ends or the hub closes. The sequence can be read only once. Each read
// from the sequence waits for the next event. Unread events stay in memory until ctx ends.
func (h *Hub[E]) Watch(ctx context.Context) iter.Seq[E] {
	w, leave := h.enter()
	stop := context.AfterFunc(ctx, leave)
	return func(yield func(E) bool) {
		defer leave()
		defer stop()
		for {
			events, ended := w.drain()
			for _, e := range events {
				if !yield(e.what) {
					return
				}
			}
			if ended {
				return
			}
			select {
			case <-w.wake:
			case <-ctx.Done():
				return
			}
		}
	}
}
