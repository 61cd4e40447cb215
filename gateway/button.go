package gateway

import (
	"slices"
	"strings"

	"telex/gateway/approval"
	"telex/gateway/preview"
	"telex/gateway/queue"
	"telex/internal/chat"
)

// The id of a turn's stop button consists of the prefix stopAction and the turn's id.
const stopAction = "stop:"

// ours reports whether a button with the given action belongs to a reply of telex.
func ours(action string) bool {
	_, decides := approval.Pressed(action)
	_, drafted := chat.PressedDraft(action)
	return decides || drafted || strings.HasPrefix(action, stopAction)
}

// press handles the press of a button. If the button's turn or question has ended, the method press ignores the button.
func (a *actor) press(m queue.Message) {
	if answer, ok := approval.Pressed(m.Action); ok {
		a.decideProposal(m, answer)
		return
	}
	id, _ := strings.CutPrefix(m.Action, stopAction)
	draft, drafted := chat.PressedDraft(m.Action)
	about := func(turn string) bool { return turn == id || drafted && preview.IsDraft(turn, draft) }
	left := slices.ContainsFunc(a.left, func(rec chat.Turn) bool { return about(rec.ID) })
	if left || a.turn != nil && about(a.turn.id) {
		a.stop(m)
		return
	}
	a.cutParked(func(t *turn) bool { return about(t.id) })
	a.drop(m.Inbound)
}

// Button configures in which chats replies have a stop button.
type Button uint8

// These constants are the values of the type Button.
const (
	ButtonAuto Button = iota // in chats where people can't type commands, and below drafts
	ButtonOn
	ButtonOff
)

// stopButton returns the stop button of a turn's reply, or nil if the reply gets no stop button.
func (a *actor) stopButton(rec chat.Turn) *chat.Action {
	if a.endpoint.account().StopButton == ButtonOff || !a.endpoint.account().buttons {
		return nil
	}
	return &chat.Action{ID: stopAction + rec.ID, Label: a.g.texts()[TextStopButton]}
}
