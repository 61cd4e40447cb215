package discord

import "telex/standin/rig"

// Event is one event for Watch and /control/events.
type Event struct {
	rig.EventHead[Call] // Kinds, besides those of package rig: message, edit, delete, typing, violation, channel, interaction, gateway.

	// Channel is the event's channel.
	Channel string `json:"channel,omitempty"`
	// Message is the message after a message, edit or delete event.
	Message     *Message     `json:"message,omitempty"`
	Typing      *Period      `json:"typing,omitempty"`
	Violation   *Violation   `json:"violation,omitempty"`
	Info        *Channel     `json:"info,omitempty"`
	Interaction *Interaction `json:"interaction,omitempty"`
	// Gateway describes an event of a connection.
	Gateway string `json:"gateway,omitempty"`
}

// copyEvent copies what an event's pointers refer to.
func copyEvent(e *Event) {
	if e.Message != nil {
		e.Message = new(e.Message.clone())
	}
	if e.Interaction != nil {
		e.Interaction = new(*e.Interaction)
	}
}

// setEventChannel sets the channel of an event to that of a call.
func setEventChannel(e *Event, c *Call) { e.Channel = c.Channel }
