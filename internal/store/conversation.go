package store

import (
	"context"

	"telex/internal/chat"
)

// currentChat returns the newest id of a chat, or c if the platform never gave the chat a new id.
func (t *tx) currentChat(e chat.EndpointID, c chat.ChatID) chat.ChatID {
	t.first([]any{&c}, findMove, e, c)
	return c
}

// ensure returns the row id of a conversation for a transaction that writes. If the conversation's row is missing,
// ensure creates it.
func (t *tx) ensure(c chat.Conversation) (id int64) {
	t.first([]any{&id}, ensureConversation, c.Endpoint, t.currentChat(c.Endpoint, c.Chat), c.Thread)
	return id
}

// find returns the row id of a conversation, or 0 if the conversation has no row.
func (t *tx) find(c chat.Conversation) (id int64) {
	t.first([]any{&id}, findConversation, c.Endpoint, t.currentChat(c.Endpoint, c.Chat), c.Thread)
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
	return s.update(ctx, "move chat", func(t *tx) {
		to := t.currentChat(e, target)
		if t.currentChat(e, from) == to && to != from {
			return // this move is already stored; storing it again would mark running turns as stale
		}
		if to == from { // the platform gave the chat an earlier id back
			to = target
			t.exec(forgetMove, e, to)
		}
		t.exec(saveMove, e, from, to)
		t.exec(shortenMoves, to, e, from)
		t.exec(outdateChats, e, from, to)
		// The rate-limit blocks of the old id apply to the new id. If both ids of the chat have a block for the same calls,
		// the block that ends later applies.
		t.exec(copyBlocks, to, e, from)
		t.exec(deleteBlocks, e, from)
		type conversation struct {
			id     int64
			thread chat.ThreadID
		}
		for _, c := range rows(t, func(c *conversation) []any { return []any{&c.id, &c.thread} }, threadsOf, e, from) {
			t.moveConversation(c.id, chat.Conversation{Endpoint: e, Chat: to, Thread: c.thread}, from)
		}
	})
}

// Moves returns the old id and the newest id of each chat to which the platform has given a new id.
func (r *Reader) Moves(ctx context.Context) ([]chat.Move, error) {
	return resultOf(ctx, r.view, "list moved chats", func(t *tx) []chat.Move {
		return rows(t, func(m *chat.Move) []any { return []any{&m.Endpoint, &m.From, &m.To} }, listMoves)
	})
}

// Knows reports whether the store contains a conversation of a chat, under any of the chat's ids.
func (r *Reader) Knows(ctx context.Context, e chat.EndpointID, c chat.ChatID) (bool, error) {
	return resultOf(ctx, r.view, "look for a chat", func(t *tx) bool {
		var id int64
		return t.first([]any{&id}, findChat, e, t.currentChat(e, c))
	})
}

// moveConversation changes the chat id of the conversation in row id. If another row already contains the conversation
// to, moveConversation moves all data to that row.
func (t *tx) moveConversation(id int64, to chat.Conversation, from chat.ChatID) {
	var owner int64
	taken := t.first([]any{&owner}, findConversation, to.Endpoint, to.Chat, to.Thread)
	t.exec(retargetTurns, to.Chat, id, from)
	if !taken {
		t.exec(renameConversation, to.Chat, id)
		return
	}
	t.join(owner, id)
	t.all([]string{moveInbox, moveEntries, moveTurns, moveUsage, moveConsents}, owner, id)
	t.all([]string{deleteConsents, deleteConversation}, id)
}
