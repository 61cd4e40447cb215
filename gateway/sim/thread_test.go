package sim

import (
	"slices"
	"time"
)

// judgeUnnamed checks a message that was written in a thread and does not mention the bot. judgeUnnamed reports whether
// the gateway accepted it. The gateway must accept the message if the bot took part in the thread before, and must
// ignore it if nobody had mentioned the bot there.
func (w *world) judgeUnnamed(m *written) bool {
	taken := !m.accepted.IsZero()
	switch piece, follows := w.goesOn(m), w.s.follows && m.user != stranger; {
	case taken && !piece && !(follows && w.wasNamed(m)):
		w.complain("a message that does not name the bot is accepted in a thread where it takes no part: %+v", m.say)
	case !taken && follows && w.tookPart(m):
		w.complain("a message in a thread where the bot takes part is not accepted: %+v", m.say)
	case taken && !piece:
		w.counts.add("questions in a thread that don't name the bot", 1)
	}
	return taken
}

// A client may split a message into pieces. goesOn reports whether m is a piece of a split message, but not the first
// piece.
func (w *world) goesOn(m *written) bool {
	return slices.ContainsFunc(w.messages, func(o *written) bool {
		return o != m && o.more && o.place == m.place && o.user == m.user && !o.wrote.IsZero() && !o.wrote.After(m.accepted)
	})
}

// wasNamed reports whether somebody had mentioned the bot in the thread of m before m was accepted.
func (w *world) wasNamed(m *written) bool {
	return slices.ContainsFunc(w.messages, func(o *written) bool {
		return !o.unnamed && o.place == m.place && o.user != stranger && !o.accepted.IsZero() && !o.accepted.After(m.accepted)
	})
}

// tookPart reports whether the bot had answered in the thread less than an hour before m was written. tookPart returns
// false if the chat got a new id, or if the schedule contains a command that erases something in the thread.
func (w *world) tookPart(m *written) bool {
	taken := slices.ContainsFunc(w.messages, func(o *written) bool {
		return o.place == m.place && slices.Contains([]string{"undo", "new", "forget"}, o.kind)
	})
	return !taken && len(w.moved) == 0 && !m.wrote.IsZero() && slices.ContainsFunc(w.order, func(t *turnLog) bool {
		return t.place == m.place && w.remembered(t) && t.ended.Before(m.wrote) && m.wrote.Sub(t.ended) < time.Hour
	})
}
