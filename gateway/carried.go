package gateway

import (
	"cmp"
	"strings"

	"telex/agent"
	"telex/gateway/approval"
	"telex/gateway/history"
	"telex/gateway/preview"
)

// What an interrupted answer did is in the history, where the model finds it. People are told too: they approved it, and nothing
// else on their screen says what came of it.

// carriedOut returns a line for each call that changed something, or may have.
func (t Texts) carriedOut(asked *approval.Approvals, changes []history.Change) string {
	var told []string
	for _, c := range changes {
		key, ok := map[agent.CallOutcome]TextKey{
			agent.CallDone: TextCarriedOut, agent.CallFailed: TextCallFailed, agent.CallUnknown: TextCallUnknown,
		}[c.Outcome]
		if ok { // else it was not run after all
			told = append(told, t.fill(key, "what", inCode(clip(cmp.Or(asked.Text(c.ID), c.Tool, "?")))))
		}
	}
	return strings.Join(told, "\n")
}

// tellCarriedOut says what an answer did that was interrupted.
func (a *actor) tellCarriedOut(t *turn) {
	if !t.slot.Ending().Keep || t.recovered || t.unseen || a.g.isStopping() {
		return // it was not interrupted, nobody sees it, or the next process goes on with the turn
	}
	if line := a.carriedOut(t); line != "" {
		a.answer(preview.Ending{Text: line}, t.in.To)
	}
}

// carriedOut says what a turn did.
func (a *actor) carriedOut(t *turn) string {
	return a.g.Texts.carriedOut(t.approvals, history.Changes(t.result.Append, t.journal.Changing()))
}

// lined returns two texts one below the other.
func lined(above, below string) string {
	if above == "" || below == "" {
		return above + below
	}
	return above + "\n" + below
}
