package gateway

import (
	"cmp"
	"strings"

	"telex/agent"
	"telex/gateway/approval"
	"telex/gateway/history"
	"telex/gateway/preview"
)

// If an answer is interrupted, the history records what its tool calls did, so that the model knows. The bot also tells
// people what the tool calls did, because people approved the calls and can't see the results elsewhere.

// carriedOut returns a line for each tool call that changed something or may have done so.
func (t Texts) carriedOut(asked *approval.Approvals, changes []history.Change) string {
	var told []string
	for _, c := range changes {
		key, ok := map[agent.CallOutcome]TextKey{
			agent.CallDone: TextCarriedOut, agent.CallFailed: TextCallFailed, agent.CallUnknown: TextCallUnknown,
		}[c.Outcome]
		if ok { // if there is no key, the tool call did not run
			told = append(told, t.fill(key, "what", inCode(clip(cmp.Or(asked.Text(c.ID), c.Tool, "?")))))
		}
	}
	return strings.Join(told, "\n")
}

// tellCarriedOut tells people what the tool calls of an interrupted answer did.
func (a *actor) tellCarriedOut(t *turn) {
	if !t.slot.Ending().Keep || t.recovered || t.unseen || a.g.isStopping() {
		return // the answer was not interrupted, nobody can see it, or the next process continues it
	}
	if line := a.carriedOut(t); line != "" {
		a.answer(preview.Ending{Text: line}, t.in.To)
	}
}

// carriedOut returns the lines that tell people what a turn's tool calls did.
func (a *actor) carriedOut(t *turn) string {
	return a.g.texts().carriedOut(t.approvals, history.Changes(t.result.Append, t.journal.Changing()))
}

// lined joins two texts with a line break between them.
func lined(above, below string) string {
	if above == "" || below == "" {
		return above + below
	}
	return above + "\n" + below
}
