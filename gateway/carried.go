package gateway

import (
	"cmp"
	"slices"
	"strings"

	"telex/agent"
	"telex/gateway/approval"
	"telex/gateway/preview"
)

// What an interrupted answer did is in the history, where the model finds it. People are told too: they approved it, and nothing
// else on their screen says what came of it.

// carriedOut returns a line for each call that changed something, or may have, from the messages of a turn; begun are the ids of
// those that began.
func (t Texts) carriedOut(asked *approval.Approvals, said []agent.Message, begun []string) string {
	names, answers := make(map[string]string), make(map[string]agent.Message)
	for _, m := range said {
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Name
		}
		if m.Role == agent.ToolRole {
			answers[m.ToolCallID] = m
		}
	}
	var told []string
	for i, id := range begun {
		if slices.Contains(begun[:i], id) {
			continue
		}
		outcome := agent.CallUnknown
		if answer, ok := answers[id]; ok {
			outcome = answer.Outcome()
		}
		key, ok := map[agent.CallOutcome]TextKey{
			agent.CallDone: TextCarriedOut, agent.CallFailed: TextCallFailed, agent.CallUnknown: TextCallUnknown,
		}[outcome]
		if !ok {
			continue // it was not run after all
		}
		told = append(told, t.fill(key, "what", inCode(clip(cmp.Or(asked.Text(id), names[id], "?")))))
	}
	return strings.Join(told, "\n")
}

// tellCarriedOut says what an answer did that was interrupted.
func (a *actor) tellCarriedOut(t *turn) {
	if t.unseen || a.g.isStopping() {
		return // nobody sees it, or the next process goes on with the turn
	}
	if line := a.carriedOut(t); line != "" {
		a.answer(preview.Ending{Text: line}, t.in.To)
	}
}

// carriedOut says what a turn did.
func (a *actor) carriedOut(t *turn) string {
	return a.g.Texts.carriedOut(t.approvals, t.result.Append, slices.Concat(t.earlier.changing, t.journal.begun))
}

// lined returns two texts one below the other.
func lined(above, below string) string {
	if above == "" || below == "" {
		return above + below
	}
	return above + "\n" + below
}
