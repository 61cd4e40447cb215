package telegram

import "telex/standin/rig"

// Event is one event for Watch and /control/events.
type Event struct {
	rig.EventHead[Call] // Kinds, besides those of package rig: message, edit, delete, reaction, action, draft, update, violation, chat, answer.

	Chat int64 `json:"chat,omitempty"`
	// Message is the message after a message, edit, delete or reaction event.
	Message   *Message        `json:"message,omitempty"`
	Draft     *Draft          `json:"draft,omitempty"`
	Action    *Period         `json:"action,omitempty"`
	Violation *Violation      `json:"violation,omitempty"`
	Info      *Chat           `json:"info,omitempty"`
	Answer    *CallbackAnswer `json:"answer,omitempty"`
}

// copyEvent copies what an event's pointers refer to.
func copyEvent(e *Event) {
	if e.Message != nil {
		e.Message = new(e.Message.clone())
	}
}

// setEventChat sets the chat of an event to that of a call.
func setEventChat(e *Event, c *Call) { e.Chat = c.Chat }
