package store

import (
	"context"
	"math"

	"telex/internal/chat"
)

// Used sums up what turns used. It survives Forget, for 400 days.
func (r *Reader) Used(ctx context.Context, of chat.UsageOf) (u chat.Used, err error) {
	err = r.view(ctx, "read usage", func(t *tx) error {
		u = chat.Used{}
		query, args := "", []any{millis(of.From), int64(math.MaxInt64)}
		if !of.To.IsZero() {
			args[1] = millis(of.To)
		}
		where := func(condition string, value any) {
			query += condition
			args = append(args, value)
		}
		if of.Conversation != (chat.Conversation{}) {
			id, err := t.find(ctx, of.Conversation)
			if err != nil {
				return err
			}
			where(usageOfConversation, id)
		}
		if of.Person.Endpoint != "" {
			where(usageOfEndpoint, of.Person.Endpoint)
		}
		if of.Person.User != "" {
			where(usageOfPerson, of.Person.User)
		}
		sum := []any{&u.Prompt, &u.Cached, &u.Completion, &u.Reasoning, &u.Calls, &u.Estimated, &u.Turns}
		if _, err := t.first(ctx, sum, sumUsage+query, args...); err != nil {
			return err
		}
		_, err := t.first(ctx, []any{&u.Last}, lastUsage+query+newestUsage, args...)
		return err
	})
	return u, err
}

func (t *tx) saveUsage(ctx context.Context, turn string, row turnRow, usage []chat.Usage) error {
	where := row.conversation
	if row.fenced && row.user == "" && len(usage) > 0 { // who asked was deleted
		var endpoint chat.EndpointID
		_, err := t.first(ctx, []any{&endpoint}, endpointOf, where)
		if err == nil {
			where, err = t.nowhere(ctx, endpoint)
		}
		if err != nil {
			return err
		}
	}
	for _, u := range usage {
		_, err := t.exec(ctx, addUsage, row.user, turn, u.Model, t.now, int64(u.Prompt), int64(u.Cached),
			int64(u.Completion), int64(u.Reasoning), int64(u.Calls), number(u.Estimated), where)
		if err != nil {
			return err
		}
	}
	return nil
}
