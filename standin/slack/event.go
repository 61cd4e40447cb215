package slack

import "telex/standin/rig"

// Event is one thing that happened, as Watch and /control/events tell it.
type Event struct {
	rig.EventHead[Call] // Its kinds beside those of the rig: message, edit, delete, status, prompts, delivery, socket, violation, channel, command.

	Channel string `json:"channel,omitempty"`
	// Message is the state after a message, edit or delete.
	Message   *Message    `json:"message,omitempty"`
	Status    *Status     `json:"status,omitempty"`
	Prompts   *Prompts    `json:"prompts,omitempty"`
	Delivery  *Delivery   `json:"delivery,omitempty"`
	Command   *CommandRun `json:"command,omitempty"`
	Violation *Violation  `json:"violation,omitempty"`
	Info      *Channel    `json:"info,omitempty"`
	// Sockets is how many there are after one came or went.
	Sockets int `json:"sockets,omitempty"`
}

// isolate copies what the pointers of an event lead to.
func isolate(e *Event) {
	if e.Message != nil {
		e.Message = new(e.Message.clone())
	}
	if e.Delivery != nil {
		e.Delivery = new(e.Delivery.clone())
	}
	if e.Command != nil {
		e.Command = new(*e.Command)
	}
}

// place names in an event the place of a call.
func place(e *Event, c *Call) { e.Channel = c.Channel }
