package discord

import "telex/standin/rig"

// Event is one thing that happened, as Watch and /control/events tell it.
type Event struct {
	rig.EventHead[Call] // Its kinds beside those of the rig: message, edit, delete, typing, violation, channel, interaction, gateway.

	// Channel is where it happened.
	Channel string `json:"channel,omitempty"`
	// Message is the state after a message, edit or delete.
	Message     *Message     `json:"message,omitempty"`
	Typing      *Period      `json:"typing,omitempty"`
	Violation   *Violation   `json:"violation,omitempty"`
	Info        *Channel     `json:"info,omitempty"`
	Interaction *Interaction `json:"interaction,omitempty"`
	// Gateway says what happened to a connection.
	Gateway string `json:"gateway,omitempty"`
}

// isolate copies what the pointers of an event lead to.
func isolate(e *Event) {
	if e.Message != nil {
		e.Message = new(e.Message.clone())
	}
	if e.Interaction != nil {
		e.Interaction = new(*e.Interaction)
	}
}

// place names in an event the place of a call.
func place(e *Event, c *Call) { e.Channel = c.Channel }
