package telegram

import "telex/standin/rig"

// Event is one thing that happened, as Watch and /control/events tell it.
type Event struct {
	rig.EventHead[Call] // Its kinds beside those of the rig: message, edit, delete, reaction, action, draft, update, violation, chat, answer.

	Chat int64 `json:"chat,omitempty"`
	// Message is the state after a message, edit, delete or reaction.
	Message   *Message        `json:"message,omitempty"`
	Draft     *Draft          `json:"draft,omitempty"`
	Action    *Period         `json:"action,omitempty"`
	Violation *Violation      `json:"violation,omitempty"`
	Info      *Chat           `json:"info,omitempty"`
	Answer    *CallbackAnswer `json:"answer,omitempty"`
}

// isolate copies what the pointers of an event lead to.
func isolate(e *Event) {
	if e.Message != nil {
		e.Message = new(e.Message.clone())
	}
}

// place names in an event the place of a call.
func place(e *Event, c *Call) { e.Chat = c.Chat }
