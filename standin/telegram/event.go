package telegram

import (
	"context"
	"iter"
	"time"
)

// Event is one thing that happened, as Watch and /control/events tell it.
type Event struct {
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	Kind string    `json:"kind"` // message, edit, delete, action, draft, call, update, violation, chat, answer, paused, restart, outage, reset.
	Chat int64     `json:"chat,omitempty"`
	// Message is the state after a message, edit or delete.
	Message   *Message        `json:"message,omitempty"`
	Draft     *Draft          `json:"draft,omitempty"`
	Action    *Period         `json:"action,omitempty"`
	Call      *Call           `json:"call,omitempty"`
	Violation *Violation      `json:"violation,omitempty"`
	Info      *Chat           `json:"info,omitempty"`
	Answer    *CallbackAnswer `json:"answer,omitempty"`
	Paused    *Paused         `json:"paused,omitempty"`
}

// publish tells all watchers; s.mu is held. Pointers in e are copied here, so
// that a watcher never shares memory with the server.
func (s *Server) publish(e Event) {
	s.events.Publish(func(seq int64) Event {
		e.Seq, e.At = seq, time.Now()
		if e.Message != nil {
			c := e.Message.clone()
			e.Message = &c
		}
		if e.Call != nil {
			c := *e.Call
			e.Call = &c
		}
		return e
	})
}

// Watch returns everything that happens from this call on, until ctx ends or
// the server closes. The sequence can be read once; reading blocks. Events that
// are not read are kept in memory until ctx ends.
func (s *Server) Watch(ctx context.Context) iter.Seq[Event] { return s.events.Watch(ctx) }
