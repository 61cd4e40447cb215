package gateway

import (
	"log/slog"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// command handles in when it is one of our commands. What only looks like one is left to the
// model.
func (a *actor) command(m message) bool {
	in := m.Inbound
	if in.Kind != chat.Command {
		return false
	}
	switch in.Command {
	case "help", "start":
		a.say(in, a.g.Texts[TextHelp])
	case "stop":
		a.stop(m)
	case "new":
		a.fresh(m)
	default:
		return false
	}
	return true
}

// stop ends the running turn and drops what waits. What was shown stays, so that only a
// reply that had shown nothing needs a word.
func (a *actor) stop(m message) {
	in := m.Inbound
	idle := a.turn == nil && len(a.queue) == 0 && len(a.left) == 0
	a.clear(m.accepted)
	switch {
	case a.turn != nil:
		if earlier := a.turn.stoppedBy; earlier != nil {
			a.drop(*earlier)
		}
		a.turn.stoppedBy = &in
		a.interrupt(errStopped)
	case idle:
		a.say(in, a.g.Texts[TextNothing])
	default:
		a.say(in, a.g.Texts[TextStopped])
	}
}

// clear drops what waited before. What an earlier process had begun to show stays as it is,
// like a running turn's; only what a command was answered with is told to its end.
func (a *actor) clear(before time.Time) {
	for _, rec := range a.left {
		command := rec.Messages[len(rec.Messages)-1].Kind == chat.Command
		if e, known := a.known(rec); known && (command || rec.Began.After(before)) {
			a.deliver(rec, e)
			continue
		}
		e := preview.Ending{Keep: true}
		switch {
		case rec.State == chat.TurnDecided:
			a.cut(rec.ID)
		case !rec.Void:
			a.decide(rec.ID, e, chat.Decision{})
		}
		a.deliver(rec, e)
	}
	a.left = nil
	for _, m := range a.queue {
		a.drop(m.Inbound)
	}
	a.queue, a.full = nil, false
}

// fresh begins a new conversation. A running turn belongs to the old one: it ends now, and
// what it would have added to the history is void.
func (a *actor) fresh(m message) {
	in := m.Inbound
	a.clear(m.accepted)
	if a.turn != nil {
		a.turn.void = true
		a.interrupt(errStopped)
	}
	if err := a.g.Store.Forget(a.g.deliveries, a.conversation); err != nil {
		id := newID()
		a.log.Error("history could not be deleted", slog.String("turn", id), slog.Any("error", err))
		a.say(in, a.g.Texts.line(TextFailed, id))
		return
	}
	a.say(in, a.g.Texts[TextNew])
}
