package discord

import (
	"context"
	"iter"
	"sync"
	"time"
)

// Event is one thing that happened, as Watch and /control/events tell it.
type Event struct {
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	Kind string    `json:"kind"` // message, edit, delete, typing, call, violation, channel, interaction, paused, gateway, restart, outage, reset.
	// Channel is where it happened.
	Channel string `json:"channel,omitempty"`
	// Message is the state after a message, edit or delete.
	Message     *Message     `json:"message,omitempty"`
	Typing      *Period      `json:"typing,omitempty"`
	Call        *Call        `json:"call,omitempty"`
	Violation   *Violation   `json:"violation,omitempty"`
	Info        *Channel     `json:"info,omitempty"`
	Interaction *Interaction `json:"interaction,omitempty"`
	Paused      *Paused      `json:"paused,omitempty"`
	// Gateway says what happened to a connection.
	Gateway string `json:"gateway,omitempty"`
}

// hub hands events to the watchers; guarded by Server.mu but for the watchers'
// own queues.
type hub struct {
	seq      int64
	watchers map[*watcher]struct{}
	ended    bool
}

// watcher is an unbounded queue with one reader, so that a slow reader neither
// loses events nor holds up the server.
type watcher struct {
	mu    sync.Mutex
	queue []Event
	ended bool
	wake  chan struct{} // capacity 1: a sign that queue or ended changed.
}

func (w *watcher) push(e Event) {
	w.mu.Lock()
	w.queue = append(w.queue, e)
	w.mu.Unlock()
	w.signal()
}

func (w *watcher) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.signal()
}

func (w *watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watcher) drain() (events []Event, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	events, w.queue = w.queue, nil
	return events, w.ended
}

// publish tells all watchers; s.mu is held. Pointers in e are copied here, so
// that a watcher never shares memory with the server.
func (s *Server) publish(e Event) {
	s.events.seq++
	if len(s.events.watchers) == 0 {
		return
	}
	e.Seq, e.At = s.events.seq, time.Now()
	if e.Message != nil {
		c := e.Message.clone()
		e.Message = &c
	}
	if e.Call != nil {
		c := *e.Call
		e.Call = &c
	}
	if e.Interaction != nil {
		c := *e.Interaction
		e.Interaction = &c
	}
	for w := range s.events.watchers {
		w.push(e)
	}
}

func (h *hub) closeAll() {
	h.ended = true
	for w := range h.watchers {
		w.end()
	}
}

// enter adds a watcher; leave removes it and may be called more than once.
func (s *Server) enter() (w *watcher, leave func()) {
	w = &watcher{wake: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.events.watchers == nil {
		s.events.watchers = make(map[*watcher]struct{})
	}
	w.ended = s.events.ended
	if w.ended {
		w.signal()
	}
	s.events.watchers[w] = struct{}{}
	return w, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.events.watchers, w)
	}
}

// Watch returns everything that happens from this call on, until ctx ends or
// the server closes. The sequence can be read once; reading blocks. Events that
// are not read are kept in memory until ctx ends.
func (s *Server) Watch(ctx context.Context) iter.Seq[Event] {
	w, leave := s.enter()
	stop := context.AfterFunc(ctx, leave)
	return func(yield func(Event) bool) {
		defer leave()
		defer stop()
		for {
			events, ended := w.drain()
			for _, e := range events {
				if !yield(e) {
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
