package telegram

import "time"

// Event is one thing that happened, as Watch and /control/events tell it.
type Event struct {
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	Kind string    `json:"kind"` // message, edit, delete, action, draft, call, update, violation, chat, answer, paused, restart, outage, reset.
	Chat int64     `json:"chat,omitempty"`
	// Message is the state after a message, edit or delete.
	Message   *Message        `json:"message,omitempty"`
	Draft     *Draft          `json:"draft,omitempty"`
	Action    *Period         `json:"action,omitempty"`
	Call      *Call           `json:"call,omitempty"`
	Violation *Violation      `json:"violation,omitempty"`
	Info      *Chat           `json:"info,omitempty"`
	Answer    *CallbackAnswer `json:"answer,omitempty"`
	Paused    *Paused         `json:"paused,omitempty"`
}

// stamp numbers an event. What its pointers lead to is copied, so that a watcher never shares memory with the server.
func stamp(e Event, seq int64, at time.Time) Event {
	e.Seq, e.At = seq, at
	if e.Message != nil {
		e.Message = new(e.Message.clone())
	}
	if e.Call != nil {
		e.Call = new(*e.Call)
	}
	return e
}

// event tells of a call, of one that is held, or that something happened.
func event(kind string, call *Call, held *Paused) Event {
	switch {
	case held != nil:
		return Event{Kind: kind, Chat: call.Chat, Paused: held}
	case call != nil:
		return Event{Kind: kind, Chat: call.Chat, Call: call}
	}
	return Event{Kind: kind}
}
