package app

import (
	"context"
	"fmt"
	"slices"

	"telex/internal/chat"
	"telex/internal/store"
)

// durable is the store as the gateway wants it: the gateway names what it needs in terms of
// chats, the store keeps rows.
type durable struct{ *store.Store }

// Pending returns what was accepted and belongs to no unfinished turn.
func (d durable) Pending(ctx context.Context) ([]chat.Pending, error) {
	all, err := d.Store.Pending(ctx)
	if err != nil {
		return nil, err
	}
	var out []chat.Pending
	for _, p := range all {
		if p.Turn == "" {
			out = append(out, chat.Pending{Conversation: p.Conversation, Message: p.Inbound, Accepted: p.AcceptedAt, Begun: p.Attempts})
		}
	}
	return out, nil
}

// Begin stores a turn as running, or counts one more run of it.
func (d durable) Begin(ctx context.Context, t chat.Turn) error {
	var ids []chat.MessageID
	for _, m := range t.Messages {
		ids = append(ids, m.ID)
	}
	return d.Store.Begin(ctx, store.TurnRecord{
		ID: t.ID, Conversation: t.Conversation, Messages: ids, To: t.To, ReplyTo: t.ReplyTo, Ending: t.Ending,
	})
}

// Decide stores how a turn ends.
func (d durable) Decide(ctx context.Context, turn string, c chat.Decision) error {
	return d.Store.Decide(ctx, turn, store.Decision{Ending: c.Ending, Usage: c.Usage, History: c.History})
}

// End says that nothing is left to do for a turn.
func (d durable) End(ctx context.Context, turn string, history ...[]byte) error {
	return d.Store.End(ctx, turn, store.Done, history...)
}

// Release ends a turn that answered nothing: its messages wait again.
func (d durable) Release(ctx context.Context, turn string) error {
	return d.Store.End(ctx, turn, store.Released)
}

// Unfinished returns the turns that have begun and not ended, with the messages they answer.
func (d durable) Unfinished(ctx context.Context) ([]chat.Turn, error) {
	turns, err := d.Store.Unfinished(ctx)
	if err != nil {
		return nil, err
	}
	messages, err := d.Store.Pending(ctx)
	if err != nil {
		return nil, err
	}
	var out []chat.Turn
	for _, t := range turns {
		c := chat.Turn{
			ID: t.ID, Conversation: t.Conversation, To: t.To, ReplyTo: t.ReplyTo, State: chat.TurnState(t.State),
			Began: t.AcceptedAt, Runs: t.Runs, Void: t.Fenced, Ending: t.Ending,
		}
		for _, m := range messages {
			if m.Turn == t.ID {
				c.Messages = append(c.Messages, m.Inbound)
			}
		}
		for _, p := range t.Parts {
			c.Parts = append(c.Parts, chat.Part{
				Index: p.Index, State: partState(p.State), Ref: p.Ref, Key: p.Key, Text: p.Text, Plain: p.Plain,
				Spans: p.Spans, Cursor: p.Cursor, Source: p.Source, File: p.File, Cut: p.Cut, First: p.First,
			})
		}
		if len(c.Messages) == 0 {
			return nil, fmt.Errorf("turn %s answers no message that is still there", t.ID)
		}
		out = append(out, c)
	}
	return out, nil
}

// partState reads a state of the store, which also knows why a create is in doubt.
func partState(s store.PartState) chat.PartState {
	if s == store.Doubtful {
		return chat.PartIntended
	}
	return chat.PartState(s)
}

// Record stores the state of one message of a turn's reply.
func (d durable) Record(ctx context.Context, turn string, p chat.Part) error {
	r := store.Part{
		Index: p.Index, State: store.PartState(p.State), Ref: p.Ref, Source: p.Source, Text: p.Text,
		Spans: slices.Clone(p.Spans), Cursor: p.Cursor, Key: p.Key,
		Plain: p.Plain, File: p.File, Cut: p.Cut, First: p.First,
	}
	if p.State == chat.PartIntended {
		return d.Intend(ctx, turn, r)
	}
	return d.Store.Record(ctx, turn, r)
}

// SaveBlock stores that nothing may be sent in a scope for a while.
func (d durable) SaveBlock(ctx context.Context, e chat.EndpointID, b chat.Block) error {
	return d.Store.SaveBlock(ctx, e, b.Scope, b.Chat, b.Message, b.Until)
}

// Blocks returns the blocks that are still in force.
func (d durable) Blocks(ctx context.Context, e chat.EndpointID) ([]chat.Block, error) {
	blocks, err := d.Store.Blocks(ctx, e)
	if err != nil {
		return nil, err
	}
	var out []chat.Block
	for _, b := range blocks {
		out = append(out, chat.Block{Scope: b.Scope, Chat: b.Chat, Message: b.Message, Until: b.Until})
	}
	return out, nil
}
