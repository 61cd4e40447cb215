package whatsapp

import "telex/standin/rig"

// Event is an event that Watch and /control/events report.
type Event struct {
	rig.EventHead[Call] // Kind is one of EventHead's kinds, or message, edit, delete, status, typing, reaction, delivery, violation, person.

	User string `json:"user,omitempty"`
	// Message is the new state of the message in an event of kind message, edit, delete, status or reaction.
	Message   *Message   `json:"message,omitempty"`
	Typing    *Typing    `json:"typing,omitempty"`
	Delivery  *Delivery  `json:"delivery,omitempty"`
	Violation *Violation `json:"violation,omitempty"`
	Person    *Person    `json:"person,omitempty"`
}

// copyEvent copies the values to which an event's pointers refer, so that a watcher shares no memory with the server.
func copyEvent(e *Event) {
	if e.Message != nil {
		e.Message = new(e.Message.clone())
	}
	if e.Typing != nil {
		e.Typing = new(*e.Typing)
	}
	if e.Delivery != nil {
		e.Delivery = new(e.Delivery.clone())
	}
	if e.Person != nil {
		e.Person = new(*e.Person)
	}
}

// setEventUser sets the user of an event to the user of a call.
func setEventUser(e *Event, c *Call) { e.User = c.User }
