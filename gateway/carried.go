package gateway

import (
	"cmp"
	"strings"

	"telex/agent"
	"telex/gateway/approval"
	"telex/gateway/history"
	"telex/gateway/preview"
)

// The history records the actions of an interrupted answer, where the model finds them. People are told too:
// they approved the actions, and nothing else on their screen shows the results.

// carriedOut returns a line for each call that changed something or may have.
func (t Texts) carriedOut(asked *approval.Approvals, changes []history.Change) string {
	var told []string
	for _, c := range changes {
		key, ok := map[agent.CallOutcome]TextKey{
			agent.CallDone: TextCarriedOut, agent.CallFailed: TextCallFailed, agent.CallUnknown: TextCallUnknown,
		}[c.Outcome]
		if ok { // otherwise the tool call did not run
			told = append(told, t.fill(key, "what", inCode(clip(cmp.Or(asked.Text(c.ID), c.Tool, "?")))))
		}
	}
	return strings.Join(told, "\n")
}

// tellCarriedOut tells people what an interrupted answer did.
func (a *actor) tellCarriedOut(t *turn) {
	if !t.slot.Ending().Keep || t.recovered || t.unseen || a.g.isStopping() {
		return // not interrupted, visible to nobody, or continued by the next process
	}
	if line := a.carriedOut(t); line != "" {
		a.answer(preview.Ending{Text: line}, t.in.To)
	}
}

// carriedOut returns the lines about a turn's actions.
func (a *actor) carriedOut(t *turn) string {
	return a.g.texts().carriedOut(t.approvals, history.Changes(t.result.Append, t.journal.Changing()))
}

// lined joins two texts with a line break.
func lined(above, below string) string {
	if above == "" || below == "" {
		return above + below
	}
	return above + "\n" + below
}
