package telegram

import "telex/standin/rig"

// Event is an event that Watch and /control/events report.
type Event struct {
	rig.EventHead[Call] // Kind is one of EventHead's kinds, or message, edit, delete, reaction, action, draft, update, violation, chat, answer.

	Chat int64 `json:"chat,omitempty"`
	// Message is the new state of the message in an event of kind message, edit, delete or reaction.
	Message   *Message        `json:"message,omitempty"`
	Draft     *Draft          `json:"draft,omitempty"`
	Action    *Period         `json:"action,omitempty"`
	Violation *Violation      `json:"violation,omitempty"`
	Info      *Chat           `json:"info,omitempty"`
	Answer    *CallbackAnswer `json:"answer,omitempty"`
}

// copyEvent copies the values to which an event's pointers refer, so that a watcher shares no memory with the server.
func copyEvent(e *Event) {
	if e.Message != nil {
		e.Message = new(e.Message.clone())
	}
}

// setEventChat sets the chat of an event to the chat of a call.
func setEventChat(e *Event, c *Call) { e.Chat = c.Chat }
