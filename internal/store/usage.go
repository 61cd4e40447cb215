package store

import (
	"context"
	"math"

	"telex/internal/chat"
)

// Used returns the sum of the token usage of the selected turns. Usage is kept for 400 days, even if Forget deletes
// the history.
func (r *Reader) Used(ctx context.Context, of chat.UsageOf) (chat.Used, error) {
	return resultOf(ctx, r.view, "read usage", func(t *tx) (u chat.Used) {
		query, args := "", []any{millis(of.From), int64(math.MaxInt64)}
		if !of.To.IsZero() {
			args[1] = millis(of.To)
		}
		where := func(condition string, value any) {
			query += condition
			args = append(args, value)
		}
		if of.Conversation != (chat.Conversation{}) {
			where(usageOfConversation, t.find(of.Conversation))
		}
		if of.Person.Endpoint != "" {
			where(usageOfEndpoint, of.Person.Endpoint)
		}
		if of.Person.User != "" {
			where(usageOfPerson, of.Person.User)
		}
		sum := []any{&u.Prompt, &u.Cached, &u.Completion, &u.Reasoning, &u.Calls, &u.Estimated, &u.Turns}
		t.first(sum, sumUsage+query, args...)
		t.first([]any{&u.Last}, lastUsage+query+newestUsage, args...)
		return u
	})
}

func (t *tx) saveUsage(turn string, row TurnRow, usage []chat.Usage) {
	where := row.Conversation
	if row.Fenced && row.User == "" && len(usage) > 0 { // the asker was deleted, so don't store the conversation
		var endpoint chat.EndpointID
		t.first([]any{&endpoint}, endpointOf, where)
		where = t.anonymous(endpoint)
	}
	for _, u := range usage {
		t.exec(addUsage, row.User, turn, u.Model, t.now, int64(u.Prompt), int64(u.Cached),
			int64(u.Completion), int64(u.Reasoning), int64(u.Calls), boolToInt(u.Estimated), where)
	}
}
