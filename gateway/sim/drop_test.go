package sim

import (
	"slices"
	"strings"
	"time"

	"telex/gateway"
)

// mostLines is the maximum number of lines with a fixed text that the gateway delivers at the same time in one
// conversation. The gateway drops lines beyond this number.
const mostLines = 5

// mayDrop reports whether message n may stay without an answer. For example, a later command may have cancelled the
// message. The bot may also have sent, shortly before, a line that answers message n, too.
func (w *world) mayDrop(n int) bool {
	m := w.messages[n]
	if w.linesUnderWay(m.place, m.dropped) >= mostLines {
		w.except(crowded)
		return true
	}
	if m.user == stranger && w.s.replicas > 0 {
		return slices.ContainsFunc(w.order, func(t *turnLog) bool { return len(t.messages) == 1 && w.messages[t.messages[0]].user == stranger })
	}
	switch m.kind {
	case "press":
		return true // the message with the button shows the outcome, and judgeHeard checks the decision
	case "text", "big":
		return w.droppedBy(n, "stop", "new", "forget") || w.wasToldLately(m)
	case "retry":
		again := slices.ContainsFunc(w.order, func(t *turnLog) bool {
			// The store may fail after it released the old turn and before it dropped the command.
			return t.place == m.place && !t.released.Before(m.accepted) && !t.released.After(m.dropped)
		})
		// If again is true, the gateway answers the old turn's question again anyway.
		return again || w.droppedBy(n, "stop", "new", "forget", "undo") || w.wasToldLately(m)
	case "yes", "no":
		return w.decidesAny(m) || w.droppedBy(n, "stop", "new", "forget") || w.wasToldLately(m)
	case "approve", "deny":
		return w.decidesAny(m) || w.saidLately(m, gateway.TextNotYours, false)
	case "stop":
		late := m.stops != "" // the button of a draft has no effect when its answer has ended
		return late || w.droppedBy(n, "stop", "new", "forget", "undo") || w.stopsVisibly(m)
	default:
		return false
	}
}

// droppedBy reports whether a command cancelled message n: the gateway must have accepted the command after message n,
// and before the gateway dropped message n.
func (w *world) droppedBy(n int, kinds ...string) bool {
	m := w.messages[n]
	for i, o := range w.messages {
		if i != n && o.place == m.place && slices.Contains(kinds, o.kind) && w.ends(o, m.user) && !o.accepted.Before(m.accepted) && !o.accepted.After(m.dropped) {
			return true
		}
	}
	return false
}

// decidesAny reports whether a message decides a question.
func (w *world) decidesAny(m *written) bool {
	return slices.ContainsFunc(w.questions, func(q *question) bool { return w.decides(m, q, m.decides-1) })
}

// stopsVisibly reports whether command m stopped a reply with visible text. The bot then shows "(stopped)" below the
// text, which is the answer to the command.
func (w *world) stopsVisibly(m *written) bool {
	return slices.ContainsFunc(w.order, func(t *turnLog) bool {
		runs := !t.begun[0].at.After(m.accepted) && (t.ended.IsZero() || !t.ended.Before(m.accepted))
		return t.place == m.place && runs && len(w.person.of(t.id)) > 0
	})
}

// wasToldLately reports whether the bot recently told the writer of m that they write too many messages.
func (w *world) wasToldLately(m *written) bool {
	return w.saidLately(m, gateway.TextQueueFull, true) || w.s.perMinute > 0 && w.saidLately(m, gateway.TextTooFast, false)
}

// saidLately reports whether the bot began to send the line with the given key after it accepted m, or less than two
// minutes before. If everybody is true, the line may be for anybody in the conversation of m. If everybody is false,
// the line must be for the writer of m.
func (w *world) saidLately(m *written, key gateway.TextKey, everybody bool) bool {
	return slices.ContainsFunc(w.order, func(t *turnLog) bool {
		to := w.asker(t) == m.user
		if everybody {
			to = t.place == m.place
		}
		about := t.begun[0].at.After(m.accepted.Add(-2 * time.Minute))
		return to && len(t.messages) > 0 && len(t.runs) == 0 && about && strings.Contains(squeeze(t.line), fixed(key)[0])
	})
}

// linesUnderWay returns how many lines with a fixed text the gateway was delivering in a conversation at the given
// time.
func (w *world) linesUnderWay(place int, at time.Time) (n int) {
	for _, t := range w.order {
		if t.place == place && len(t.runs) == 0 && !t.begun[0].at.After(at) && (t.ended.IsZero() || !t.ended.Before(at)) {
			n++
		}
	}
	return n
}
