package discord

import "time"

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

// stamp numbers an event. What its pointers lead to is copied, so that a watcher never shares memory with the server.
func stamp(e Event, seq int64, at time.Time) Event {
	e.Seq, e.At = seq, at
	if e.Message != nil {
		e.Message = new(e.Message.clone())
	}
	if e.Call != nil {
		e.Call = new(*e.Call)
	}
	if e.Interaction != nil {
		e.Interaction = new(*e.Interaction)
	}
	return e
}

// event tells of a call, of one that is held, or that something happened.
func event(kind string, call *Call, held *Paused) Event {
	switch {
	case held != nil:
		return Event{Kind: kind, Channel: call.Channel, Paused: held}
	case call != nil:
		return Event{Kind: kind, Channel: call.Channel, Call: call}
	}
	return Event{Kind: kind}
}
