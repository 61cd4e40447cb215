package gateway

import (
	"context"
	"fmt"
	"slices"

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

// repeated tells an adapter that offers a known message again that it was answered, if it was: the adapter of an earlier
// process may not have been told in time.
func (g *Gateway) repeated(ctx context.Context, c chat.Conversation, in chat.Inbound) error {
	told := g.endpoints[c.Endpoint].told
	if told == nil {
		return nil
	}
	pending, err := g.Store.Pending(ctx)
	if err != nil {
		return fmt.Errorf("read accepted messages: %w", err)
	}
	turns, err := g.Store.Unfinished(ctx) // after what is pending: a message goes from there to a turn
	if err != nil {
		return fmt.Errorf("read unfinished turns: %w", err)
	}
	same := func(m chat.Inbound) bool { return m.ID == in.ID }
	open := slices.ContainsFunc(pending, func(p chat.Pending) bool { return p.Conversation == c && same(p.Message) }) ||
		slices.ContainsFunc(turns, func(t chat.Turn) bool { return t.Conversation == c && slices.ContainsFunc(t.Messages, same) })
	if !open {
		told.Concluded(in.To, []chat.MessageID{in.ID}, false)
	}
	return nil
}
