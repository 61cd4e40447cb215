package slack

import "telex/standin/rig"

// Event is an event that Watch and /control/events report.
type Event struct {
	rig.EventHead[Call] // Kind is one of EventHead's kinds, or message, edit, delete, status, prompts, delivery, socket, violation, channel, command.

	Channel string `json:"channel,omitempty"`
	// Message is the new state of the message in an event of kind message, edit or delete.
	Message   *Message    `json:"message,omitempty"`
	Status    *Status     `json:"status,omitempty"`
	Prompts   *Prompts    `json:"prompts,omitempty"`
	Delivery  *Delivery   `json:"delivery,omitempty"`
	Command   *CommandRun `json:"command,omitempty"`
	Violation *Violation  `json:"violation,omitempty"`
	Info      *Channel    `json:"info,omitempty"`
	// Sockets is the number of open sockets in an event of kind socket.
	Sockets int `json:"sockets,omitempty"`
}

// copyEvent copies the values to which an event's pointers refer, so that a watcher shares no memory with the server.
func copyEvent(e *Event) {
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

// setEventChannel sets the channel of an event to the channel of a call.
func setEventChannel(e *Event, c *Call) { e.Channel = c.Channel }
