package sim

import (
	"slices"
	"time"
)

// judgeUnnamed judges whether a message in a thread that does not name the bot was accepted, and reports whether it was. It must be
// where the bot took part before, and must not be where nobody had named it.
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

// goesOn says that m is the rest of a message that the client had split.
func (w *world) goesOn(m *written) bool {
	return slices.ContainsFunc(w.messages, func(o *written) bool {
		return o != m && o.more && o.place == m.place && o.user == m.user && !o.wrote.IsZero() && !o.wrote.After(m.accepted)
	})
}

// wasNamed says that somebody had asked the bot in the thread of m before.
func (w *world) wasNamed(m *written) bool {
	return slices.ContainsFunc(w.messages, func(o *written) bool {
		return !o.unnamed && o.place == m.place && o.user != stranger && !o.accepted.IsZero() && !o.accepted.After(m.accepted)
	})
}

// tookPart says that the bot had answered in the thread of m when that was written, and that nothing of it was forgotten since.
func (w *world) tookPart(m *written) bool {
	taken := slices.ContainsFunc(w.messages, func(o *written) bool {
		return o.place == m.place && slices.Contains([]string{"undo", "new", "forget"}, o.kind)
	})
	return !taken && len(w.moved) == 0 && !m.wrote.IsZero() && slices.ContainsFunc(w.order, func(t *turnLog) bool {
		return t.place == m.place && w.remembered(t) && t.ended.Before(m.wrote) && m.wrote.Sub(t.ended) < time.Hour
	})
}
