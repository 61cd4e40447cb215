package discord

import (
	"context"
	"iter"
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
		if e.Interaction != nil {
			c := *e.Interaction
			e.Interaction = &c
		}
		return e
	})
}

// Watch returns everything that happens from this call on, until ctx ends or
// the server closes. The sequence can be read once; reading blocks. Events that
// are not read are kept in memory until ctx ends.
func (s *Server) Watch(ctx context.Context) iter.Seq[Event] { return s.events.Watch(ctx) }
