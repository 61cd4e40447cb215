package slack

import (
	"context"
	"iter"
	"time"
)

// Event is one thing that happened, as Watch and /control/events tell it.
type Event struct {
	Seq     int64     `json:"seq"`
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"` // message, edit, delete, status, call, delivery, socket, violation, channel, command, paused, restart, outage, reset.
	Channel string    `json:"channel,omitempty"`
	// Message is the state after a message, edit or delete.
	Message   *Message    `json:"message,omitempty"`
	Status    *Status     `json:"status,omitempty"`
	Call      *Call       `json:"call,omitempty"`
	Delivery  *Delivery   `json:"delivery,omitempty"`
	Command   *CommandRun `json:"command,omitempty"`
	Violation *Violation  `json:"violation,omitempty"`
	Info      *Channel    `json:"info,omitempty"`
	Paused    *Paused     `json:"paused,omitempty"`
	// Sockets is how many there are after one came or went.
	Sockets int `json:"sockets,omitempty"`
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
		if e.Delivery != nil {
			c := e.Delivery.clone()
			e.Delivery = &c
		}
		if e.Command != nil {
			c := *e.Command
			e.Command = &c
		}
		return e
	})
}

// Watch returns everything that happens from this call on, until ctx ends or
// the server closes. The sequence can be read once; reading blocks. Events that
// are not read are kept in memory until ctx ends.
func (s *Server) Watch(ctx context.Context) iter.Seq[Event] { return s.events.Watch(ctx) }
