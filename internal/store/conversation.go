package store

import (
	"context"
	"database/sql"

	"telex/internal/chat"
)

// whereIs follows a chat to its present id.
func (t *tx) whereIs(ctx context.Context, e chat.EndpointID, c chat.ChatID) (chat.ChatID, error) {
	to := c
	_, err := t.first(ctx, []any{&to}, findMove, e, c)
	return to, err
}

// take returns the conversation's row, made when missing, for a transaction that writes to it.
func (t *tx) take(ctx context.Context, c chat.Conversation) (id int64, err error) {
	if c.Chat, err = t.whereIs(ctx, c.Endpoint, c.Chat); err != nil {
		return 0, err
	}
	_, err = t.first(ctx, []any{&id}, ensureConversation, c.Endpoint, c.Chat, c.Thread)
	return id, err
}

// find returns the conversation's row, or 0, which no row has.
func (t *tx) find(ctx context.Context, c chat.Conversation) (id int64, err error) {
	if c.Chat, err = t.whereIs(ctx, c.Endpoint, c.Chat); err != nil {
		return 0, err
	}
	_, err = t.first(ctx, []any{&id}, findConversation, c.Endpoint, c.Chat, c.Thread)
	return id, err
}

// Move says that a chat has a new id. Its sessions, with what they used, its unfinished messages and its unfinished turns go over
// to it and join what is there already; from now on the old id means the new one in every call. Messages that
// stand in the old chat stay what they are: a part keeps the reference it was sent under, and what answered a
// message of the old chat does not refer to it any more, since the new chat numbers its messages anew.
func (s *Store) Move(ctx context.Context, e chat.EndpointID, from, target chat.ChatID) error {
	if from == target {
		return nil
	}
	return s.update(ctx, "move chat", func(t *tx) error {
		to, err := t.whereIs(ctx, e, target)
		if err != nil {
			return err
		}
		if now, err := t.whereIs(ctx, e, from); err != nil || now == to && to != from {
			return err // it is known: the running turns know the history of both chats
		}
		if to == from { // it went back to an id that it had
			to = target
			if _, err := t.exec(ctx, forgetMove, e, to); err != nil {
				return err
			}
		}
		if err := t.saveMove(ctx, e, from, to); err != nil {
			return err
		}
		if _, err := t.exec(ctx, outdateChats, e, from, to); err != nil {
			return err
		}
		if err := t.moveBlocks(ctx, e, from, to); err != nil {
			return err
		}
		threads := map[int64]chat.ThreadID{}
		err = t.each(ctx, func(rows *sql.Rows) error {
			var id int64
			var thread chat.ThreadID
			err := rows.Scan(&id, &thread)
			threads[id] = thread
			return err
		}, threadsOf, e, from)
		if err != nil {
			return err
		}
		for id, thread := range threads {
			if err := t.moveConversation(ctx, id, chat.Conversation{Endpoint: e, Chat: to, Thread: thread}, from); err != nil {
				return err
			}
		}
		return nil
	})
}

// Moves returns which chats have new ids: the newest id of each.
func (r *Reader) Moves(ctx context.Context) (moves []chat.Move, err error) {
	err = r.view(ctx, "list moved chats", func(t *tx) error {
		moves = nil
		return t.each(ctx, func(rows *sql.Rows) error {
			var m chat.Move
			err := rows.Scan(&m.Endpoint, &m.From, &m.To)
			moves = append(moves, m)
			return err
		}, listMoves)
	})
	return moves, err
}

// Knows reports whether a chat has had a conversation, by whichever of its ids.
func (r *Reader) Knows(ctx context.Context, e chat.EndpointID, c chat.ChatID) (known bool, err error) {
	err = r.view(ctx, "look for a chat", func(t *tx) error {
		now, err := t.whereIs(ctx, e, c)
		if err != nil {
			return err
		}
		var id int64
		known, err = t.first(ctx, []any{&id}, findChat, e, now)
		return err
	})
	return known && err == nil, err
}

// moveBlocks lets the blocks of a chat hold for its new id; of two about the same the longer one does.
func (t *tx) moveBlocks(ctx context.Context, e chat.EndpointID, from, to chat.ChatID) error {
	if _, err := t.exec(ctx, copyBlocks, to, e, from); err != nil {
		return err
	}
	_, err := t.exec(ctx, deleteBlocks, e, from)
	return err
}

func (t *tx) saveMove(ctx context.Context, e chat.EndpointID, from, to chat.ChatID) error {
	if _, err := t.exec(ctx, saveMove, e, from, to); err != nil {
		return err
	}
	_, err := t.exec(ctx, shortenMoves, to, e, from)
	return err
}

// moveConversation gives the row id the name to, or when that is taken, all that the row had to its owner.
func (t *tx) moveConversation(ctx context.Context, id int64, to chat.Conversation, from chat.ChatID) error {
	var owner int64
	taken, err := t.first(ctx, []any{&owner}, findConversation, to.Endpoint, to.Chat, to.Thread)
	if err != nil {
		return err
	}
	if _, err := t.exec(ctx, retargetTurns, to.Chat, id, from); err != nil {
		return err
	}
	if !taken {
		_, err := t.exec(ctx, renameConversation, to.Chat, id)
		return err
	}
	if err := t.join(ctx, owner, id); err != nil {
		return err
	}
	if err := t.all(ctx, []string{moveInbox, moveEntries, moveTurns, moveUsage, moveConsents}, owner, id); err != nil {
		return err
	}
	return t.all(ctx, []string{deleteConsents, deleteConversation}, id)
}
