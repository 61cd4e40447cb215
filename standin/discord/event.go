package discord

import "telex/standin/rig"

// Event is an event that Watch and /control/events report.
type Event struct {
	rig.EventHead[Call] // Kind is one of EventHead's kinds, or message, edit, delete, typing, violation, channel, interaction, gateway.

	// Channel is the id of the channel in which the event happened.
	Channel string `json:"channel,omitempty"`
	// Message is the new state of the message in an event of kind message, edit or delete.
	Message     *Message     `json:"message,omitempty"`
	Typing      *Period      `json:"typing,omitempty"`
	Violation   *Violation   `json:"violation,omitempty"`
	Info        *Channel     `json:"info,omitempty"`
	Interaction *Interaction `json:"interaction,omitempty"`
	// Gateway describes what happened to a connection to the gateway.
	Gateway string `json:"gateway,omitempty"`
}

// copyEvent copies the values to which an event's pointers refer, so that a watcher shares no memory with the server.
func copyEvent(e *Event) {
	if e.Message != nil {
		e.Message = new(e.Message.clone())
	}
	if e.Interaction != nil {
		e.Interaction = new(*e.Interaction)
	}
}

// setEventChannel sets the channel of an event to the channel of a call.
func setEventChannel(e *Event, c *Call) { e.Channel = c.Channel }
