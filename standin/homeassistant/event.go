package homeassistant

import (
	"maps"

	"telex/standin/rig"
)

// Event is an event that Watch and /control/events report.
type Event struct {
	rig.EventHead[Call] // Kind is one of EventHead's kinds, or notification, edit, dismiss, state, socket, violation.

	// Place is the place in which the event's notification is shown (see Notification.Place), or the id of the event's
	// entity.
	Place string `json:"place,omitempty"`
	// Notification is the new state of the notification in an event of kind notification, edit or dismiss.
	Notification *Notification `json:"notification,omitempty"`
	// Old and New are the states of the entity before and after a change.
	Old       *State     `json:"old_state,omitempty"`
	New       *State     `json:"new_state,omitempty"`
	Violation *Violation `json:"violation,omitempty"`
	// Sockets is the number of open sockets in an event of kind socket.
	Sockets int `json:"sockets,omitempty"`
}

// copyEvent copies the values to which an event's pointers refer, so that a watcher shares no memory with the server.
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

// setEventPlace copies the field Place from a call to the event about the call.
func setEventPlace(e *Event, c *Call) { e.Place = c.Place }
