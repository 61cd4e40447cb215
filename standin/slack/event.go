package slack

import "telex/standin/rig"

// Event is one event for Watch and /control/events.
type Event struct {
	rig.EventHead[Call] // Kinds, besides those of package rig: message, edit, delete, status, prompts, delivery, socket, violation, channel, command.

	Channel string `json:"channel,omitempty"`
	// Message is the message after a message, edit or delete event.
	Message   *Message    `json:"message,omitempty"`
	Status    *Status     `json:"status,omitempty"`
	Prompts   *Prompts    `json:"prompts,omitempty"`
	Delivery  *Delivery   `json:"delivery,omitempty"`
	Command   *CommandRun `json:"command,omitempty"`
	Violation *Violation  `json:"violation,omitempty"`
	Info      *Channel    `json:"info,omitempty"`
	// Sockets is the number of sockets after a socket was opened or closed.
	Sockets int `json:"sockets,omitempty"`
}

// copyEvent copies what an event's pointers refer to.
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

// setEventChannel sets the channel of an event to that of a call.
func setEventChannel(e *Event, c *Call) { e.Channel = c.Channel }
