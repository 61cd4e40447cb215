package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"telex/internal/chat"
)

// whereIs returns the newest id of a chat, or c if the platform never gave the chat a new id.
func (t *tx) whereIs(e chat.EndpointID, c chat.ChatID) chat.ChatID {
	t.first([]any{&c}, findMove, e, c)
	return c
}

// hold locks a conversation's row until the transaction ends, and returns the row's id. If the conversation's row is
// missing, hold creates it.
func (t *tx) hold(c chat.Conversation) int64 { return t.ensure(&pgx.Batch{}, holdConversation, c) }

// take is like hold, but makes the transaction fail with chat.ErrLost if this replica has no lease, or if another
// replica owns the chat.
func (t *tx) take(c chat.Conversation) int64 {
	b := &pgx.Batch{}
	t.fence(b, fenceChat, c.Endpoint, c.Chat)
	return t.ensure(b, holdConversation, c)
}

// ensure first runs the queries in the batch b. After these queries, ensure runs the parameter query, which finds and
// locks the conversation's row, and returns the row's id. Another transaction may create or delete the row at any time,
// so ensure creates the row if it is missing and repeats query until it finds the row.
func (t *tx) ensure(b *pgx.Batch, query string, c chat.Conversation) (id int64) {
	for {
		found := false
		t.row(b, &found, []any{&id}, query, c.Endpoint, c.Chat, c.Thread)
		if t.send(b); found || t.err != nil {
			return id
		}
		b = &pgx.Batch{}
		b.Queue(makeConversation, t.args([]any{c.Endpoint, c.Chat, c.Thread})...)
	}
}

// find returns the row id of a conversation, or 0 if the conversation has no row.
func (t *tx) find(c chat.Conversation) (id int64) {
	t.first([]any{&id}, findConversation, c.Endpoint, c.Chat, c.Thread)
	return id
}

// Move records that the platform gave a chat a new id. The chat's sessions, usage, unfinished messages and unfinished
// turns move to the new id. If the store already contains data under the new id, Move merges the data of both ids.
// After Move, a call with the old id applies to the new id. Move does not change records of messages that were sent to
// the old chat. After Move, answers that are not finished no longer refer to the asker's message, because in the new
// chat the message's id may belong to another message.
func (s *Store) Move(ctx context.Context, e chat.EndpointID, from, target chat.ChatID) error {
	if from == target {
		return nil
	}
	_, err := s.write(ctx, &call{what: "move chat", kind: "write", alone: true, do: func(t *tx) {
		t.send(t.fenced())
		to := t.whereIs(e, target)
		if t.whereIs(e, from) == to && to != from {
			return // this move is already stored; storing it again would mark running turns as stale
		}
		if to == from { // the platform gave the chat an earlier id back
			to = target
			t.queue(forgetMove, e, to)
		}
		t.queue(saveMove, e, from, to)
		t.queue(shortenMoves, e, from, to)
		t.queue(outdateChats, e, from, to)
		// The rate-limit blocks of the old id apply to the new id. If both ids of the chat have a block for the same calls,
		// the block that ends later applies.
		t.queue(copyBlocks, e, from, to)
		t.queue(deleteBlocks, e, from)
		type conversation struct {
			id     int64
			thread chat.ThreadID
		}
		for _, c := range rows(t, func(c *conversation) []any { return []any{&c.id, &c.thread} }, threadsOf, e, from) {
			t.moveConversation(c.id, chat.Conversation{Endpoint: e, Chat: to, Thread: c.thread}, from)
		}
		t.queue(inheritChat, e, from, to)
		var owner chat.ReplicaID
		t.first([]any{&owner}, findOwner, e, to)
		var moved places
		moved.add(chat.Conversation{Endpoint: e, Chat: to})
		b := &pgx.Batch{}
		t.reset(b, moved, owner)
		t.send(b)
		t.signal(0, chat.SignalAccess|chat.SignalWork)
	}})
	return err
}

// moveConversation changes the chat id of the conversation in row id. If another row already contains the conversation
// to, moveConversation moves all data to that row.
func (t *tx) moveConversation(id int64, to chat.Conversation, from chat.ChatID) {
	owner := t.find(to)
	t.queue(retargetTurns, to.Chat, id, from)
	if owner == 0 {
		t.queue(renameConversation, to.Chat, id)
		return
	}
	t.join(owner, id)
	t.all([]string{moveInbox, moveForwarded, moveEntries, moveTurns, moveUsage, moveConsents}, owner, id)
	t.all([]string{deleteConsents, deleteConversation}, id)
}

// Moves returns the old id and the newest id of each chat to which the platform has given a new id.
func (s *Store) Moves(ctx context.Context) ([]chat.Move, error) {
	return resultOf(ctx, s.view, "list moved chats", func(t *tx) []chat.Move {
		return rows(t, func(m *chat.Move) []any { return []any{&m.Endpoint, &m.From, &m.To} }, listMoves)
	})
}

// Knows reports whether the store contains a conversation of a chat, under any of the chat's ids.
func (s *Store) Knows(ctx context.Context, e chat.EndpointID, c chat.ChatID) (bool, error) {
	return resultOf(ctx, s.view, "look for a chat", func(t *tx) (known bool) {
		t.first([]any{&known}, findChat, e, c)
		return known
	})
}
