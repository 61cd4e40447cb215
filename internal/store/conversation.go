package store

import (
	"context"

	"telex/internal/chat"
)

// whereIs follows a chat to its present id.
func (t *tx) whereIs(e chat.EndpointID, c chat.ChatID) chat.ChatID {
	t.first([]any{&c}, findMove, e, c)
	return c
}

// take returns the conversation's row, made when missing, for a transaction that writes to it.
func (t *tx) take(c chat.Conversation) (id int64) {
	t.first([]any{&id}, ensureConversation, c.Endpoint, t.whereIs(c.Endpoint, c.Chat), c.Thread)
	return id
}

// find returns the conversation's row, or 0, which no row has.
func (t *tx) find(c chat.Conversation) (id int64) {
	t.first([]any{&id}, findConversation, c.Endpoint, t.whereIs(c.Endpoint, c.Chat), c.Thread)
	return id
}

// Move says that a chat has a new id. Its sessions, with what they used, its unfinished messages and its unfinished turns go over
// to it and join what is there already; from now on the old id means the new one in every call. Messages that
// stand in the old chat stay what they are: a part keeps the reference it was sent under, and what answered a
// message of the old chat does not refer to it any more, since the new chat numbers its messages anew.
func (s *Store) Move(ctx context.Context, e chat.EndpointID, from, target chat.ChatID) error {
	if from == target {
		return nil
	}
	return s.update(ctx, "move chat", func(t *tx) {
		to := t.whereIs(e, target)
		if t.whereIs(e, from) == to && to != from {
			return // it is known: the running turns know the history of both chats
		}
		if to == from { // it went back to an id that it had
			to = target
			t.exec(forgetMove, e, to)
		}
		t.exec(saveMove, e, from, to)
		t.exec(shortenMoves, to, e, from)
		t.exec(outdateChats, e, from, to)
		// The blocks of a chat hold for its new id; of two about the same the longer one does.
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

// Moves returns which chats have new ids: the newest id of each.
func (r *Reader) Moves(ctx context.Context) ([]chat.Move, error) {
	return resultOf(ctx, r.view, "list moved chats", func(t *tx) []chat.Move {
		return rows(t, func(m *chat.Move) []any { return []any{&m.Endpoint, &m.From, &m.To} }, listMoves)
	})
}

// Knows reports whether a chat has had a conversation, by whichever of its ids.
func (r *Reader) Knows(ctx context.Context, e chat.EndpointID, c chat.ChatID) (bool, error) {
	return resultOf(ctx, r.view, "look for a chat", func(t *tx) bool {
		var id int64
		return t.first([]any{&id}, findChat, e, t.whereIs(e, c))
	})
}

// moveConversation gives the row id the name to, or when that is taken, all that the row had to its owner.
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
