package gateway

import (
	"telex/gateway/preview"
	"telex/internal/chat"
)

// concluded tells an adapter that wants to know that messages have been answered.
func (a *actor) concluded(failed bool, messages ...chat.Inbound) {
	if a.endpoint.told == nil || len(messages) == 0 {
		return
	}
	ids := make([]chat.MessageID, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	a.endpoint.told.Concluded(messages[len(messages)-1].To, ids, failed)
}

// fell says that a reply is no answer: it was not delivered, or it broke off and a note says why.
func fell(out preview.Outcome, e preview.Ending) bool { return !out.Delivered || e.Note != "" }
