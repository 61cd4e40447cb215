package homeassistant

import (
	"maps"

	"telex/standin/rig"
)

// Event is one event for Watch and /control/events.
type Event struct {
	rig.EventHead[Call] // Kinds, besides those of package rig: notification, edit, dismiss, state, socket, violation.

	// Place is the place of a notification, or an entity.
	Place string `json:"place,omitempty"`
	// Notification is the notification after a notification, edit or dismiss event.
	Notification *Notification `json:"notification,omitempty"`
	// Old and New are the states before and after a change.
	Old       *State     `json:"old_state,omitempty"`
	New       *State     `json:"new_state,omitempty"`
	Violation *Violation `json:"violation,omitempty"`
	// Sockets is the number of sockets after a socket was opened or closed.
	Sockets int `json:"sockets,omitempty"`
}

// copyEvent copies what an event's pointers refer to.
func copyEvent(e *Event) {
	if e.Notification != nil {
		e.Notification = new(e.Notification.clone())
	}
	for _, state := range []**State{&e.Old, &e.New} {
		if *state != nil {
			*state = new(**state)
			(*state).Attributes = maps.Clone((*state).Attributes)
		}
	}
}

// setEventPlace sets the place of an event to that of a call.
func setEventPlace(e *Event, c *Call) { e.Place = c.Place }
