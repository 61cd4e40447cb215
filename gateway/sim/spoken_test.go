package sim

import (
	"slices"
	"strings"
	"time"

	"telex/gateway"
	"telex/internal/chat"
)

// interrupted reports whether somebody ended a turn while the turn ran or while its answer was delivered.
func (w *world) interrupted(t *turnLog, r *run) bool {
	if len(t.messages) == 0 {
		return w.stopped(t, t.begun[0].at)
	}
	ended := r.ended
	if r.life != t.begun[len(t.begun)-1].life { // the newest process has not called the model
		ended = time.Time{}
	}
	if slices.ContainsFunc(t.messages, func(n int) bool { return len(w.messages[n].edits) > 0 }) {
		// The edit ended the model's run, and no later run began.
		ended = time.Time{}
	}
	for i, m := range w.messages {
		if m.place != t.place || m.accepted.IsZero() || slices.Contains(t.messages, i) {
			continue
		}
		if m.accepted.Before(w.messages[t.messages[0]].accepted) || m.accepted.After(t.ended) {
			continue
		}
		switch {
		case w.stopped(t, w.messages[t.messages[0]].accepted):
			return true
		case w.s.private(m.place) || m.user == w.messages[t.messages[len(t.messages)-1]].user:
		default:
			continue
		}
		switch {
		case (w.interrupts(i) && w.s.busy == gateway.Interrupt || m.kind == "retry") && (ended.IsZero() || !m.accepted.After(ended)):
			return true
		}
	}
	return false
}

// interrupts reports whether message n is a question, which may interrupt a turn. If the gateway is configured to
// interrupt, a new question ends the current answer. A yes or no that decided about a tool call is not a question.
func (w *world) interrupts(n int) bool {
	m := w.messages[n]
	return m.kind == "text" || (m.kind == "yes" || m.kind == "no") && (m.dropped.IsZero() || m.dropped.After(m.accepted))
}

// stopped reports whether somebody stopped turn t after the time from.
func (w *world) stopped(t *turnLog, from time.Time) bool {
	return slices.ContainsFunc(w.messages, func(m *written) bool {
		return m.place == t.place && w.ends(m, w.asker(t)) && !m.heardLast.Before(from) && !m.accepted.After(t.ended)
	})
}

// ends reports whether message m ends a turn that answers a question of asker.
func (w *world) ends(m *written, asker chat.UserID) bool {
	switch m.kind {
	case "stop", "new":
		t := w.turns[m.stops] // the button of a draft ends only the turn of that draft
		late := t != nil && !t.ended.IsZero() && t.ended.Before(m.accepted)
		return m.user != stranger && !late
	case "forget", "undo":
		return m.user == asker || w.s.private(m.place) && m.user != stranger
	}
	return false
}

// asker returns the person whose message a turn answers.
func (w *world) asker(t *turnLog) chat.UserID {
	if len(t.messages) == 0 {
		return ""
	}
	return w.messages[t.messages[len(t.messages)-1]].user
}

// commanded reports whether a turn answers a command, so that the model is not called.
func (w *world) commanded(t *turnLog) bool {
	return !slices.ContainsFunc(t.messages, func(n int) bool { return w.messages[n].asks() && w.messages[n].user != stranger })
}

// spoken returns the replies that the judge allows for a turn that does not call the model.
func (w *world) spoken(t *turnLog) []verdict {
	say := func(keys ...gateway.TextKey) (list []verdict) {
		for _, k := range keys {
			old := w.resumed(t) > w.s.maxAge
			switch {
			case k == gateway.TextFailed && len(t.begun) < 3, (k == gateway.TextLate || k == gateway.TextInterrupted) && !old:
			default:
				open := strings.Contains(texts()[k], "{")
				list = append(list, verdict{name: string(k), note: fixed(k), words: [][]string{nil}, open: open, exact: !open})
			}
		}
		return list
	}
	if len(t.messages) == 0 {
		return append(say(gateway.TextCompacted, gateway.TextWithdrawn, gateway.TextDecideFirst), verdict{name: "told what an interrupted answer did", exact: true})
	}
	m := w.messages[t.messages[len(t.messages)-1]]
	if m.user == stranger {
		return say(gateway.TextPair, gateway.TextFailed)
	}
	switch m.kind {
	case "stop":
		return say(gateway.TextStopped, gateway.TextNothing, gateway.TextLate, gateway.TextFailed)
	case "new":
		return say(gateway.TextNew, gateway.TextLate, gateway.TextFailed)
	case "help":
		return say(gateway.TextHelp, gateway.TextLate, gateway.TextFailed)
	case "undo":
		return say(gateway.TextUndone, gateway.TextNothingToUndo, gateway.TextFailed)
	case "forget":
		return say(gateway.TextForgotten, gateway.TextFailed)
	case "status":
		return say(gateway.TextStatus, gateway.TextFailed)
	case "usage":
		return say(gateway.TextUsage, gateway.TextFailed)
	case "model":
		return say(gateway.TextModels, gateway.TextFailed)
	case "press", "approve", "deny":
		return say(gateway.TextNoProposal, gateway.TextNotYours, gateway.TextFailed)
	case "retry":
		return say(gateway.TextNothingToRetry, gateway.TextQueueFull, gateway.TextTooFast, gateway.TextInterrupted, gateway.TextFailed)
	case "big":
		return say(gateway.TextTooLong, gateway.TextLate, gateway.TextFailed)
	}
	list := say(gateway.TextQueueFull, gateway.TextLate, gateway.TextInterrupted, gateway.TextFailed)
	inTheLastMoment := func(q *question) bool { return q.turn.place == m.place && q.ruled.Equal(m.accepted) }
	if (m.kind == "yes" || m.kind == "no") && slices.ContainsFunc(w.questions, inTheLastMoment) {
		list = append(list, say(gateway.TextNoProposal)...)
	}
	if w.s.perMinute > 0 {
		list = append(list, say(gateway.TextTooFast)...)
	}
	return list
}
