package whatsapp

import "telex/standin/rig"

// Event is one thing that happened, as Watch and /control/events tell it.
type Event struct {
	rig.EventHead[Call] // Its kinds beside those of the rig: message, edit, delete, status, typing, reaction, delivery, violation, person.

	User string `json:"user,omitempty"`
	// Message is the state after a message, an edit, a deletion, a status or a reaction.
	Message   *Message   `json:"message,omitempty"`
	Typing    *Typing    `json:"typing,omitempty"`
	Delivery  *Delivery  `json:"delivery,omitempty"`
	Violation *Violation `json:"violation,omitempty"`
	Person    *Person    `json:"person,omitempty"`
}

// isolate copies what the pointers of an event lead to.
func isolate(e *Event) {
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

// place names in an event the place of a call.
func place(e *Event, c *Call) { e.User = c.User }
