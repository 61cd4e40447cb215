package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"telex/internal/chat"
	"telex/internal/store"
)

// Begin stores that a turn begins to answer messages. Begin must be called before the first message of the reply is
// sent. If the turn already has an Ending, Begin stores the turn's result at once, and no model needs to run. Begin
// fails with ErrUnknown if one of the turn's messages is missing or finished. Several turns of a conversation may run
// at the same time: one may answer a command while another calls the model. If another turn already has some of the
// messages, these messages belong only to the new turn from now on.
//
// Begin may be called again with the id of an unfinished turn, for example by the next process after a crash. If the
// unfinished turn is already stored, Begin only counts one more run, for the turn and for each of its messages, and
// ignores the other fields of turn. Begin fails with ErrFenced if the turn's result is stored, or if the turn is fenced
// or has ended.
func (s *Store) Begin(ctx context.Context, turn chat.Turn) error {
	what := "begin turn " + turn.ID
	_, err := s.write(ctx, &call{what: what, kind: "write", once: true, key: what, do: func(t *tx) { t.begin(turn) }})
	return err
}

// begin is like Begin, within a transaction.
func (t *tx) begin(turn chat.Turn) {
	conversation := t.take(turn.Conversation)
	row := t.turn(turn.ID)
	if row.Exists {
		if !row.Runs() {
			t.fail(store.ErrFenced)
		}
		t.all([]string{rerunTurn, retakeMessages}, turn.ID)
		return
	}
	acceptedAt := t.claim(turn.ID, conversation, turn.Messages)
	state := chat.TurnRunning
	if len(turn.Ending) > 0 {
		state = chat.TurnDecided
	}
	// The turn must answer in the chat with the newest id. In the chat with the newest id, the id of the asker's message
	// may belong to another message, so the answer must not refer to it.
	old := turn.Conversation.Chat
	if now := t.whereIs(turn.Conversation.Endpoint, old); now != old && turn.To.Chat == old {
		turn.To.Chat, turn.ReplyTo = now, ""
	}
	if n := len(turn.Messages); turn.User == "" && n > 0 {
		turn.User = turn.Messages[n-1].Sender.ID
	}
	t.queue(beginTurn, turn.ID, conversation, turn.To.Chat, turn.To.Thread, turn.To.Kind, turn.ReplyTo,
		state, turn.Ending, turn.User, turn.Replaces, acceptedAt, t.now, t.self)
}

// Decide stores the result of a running turn and its additions to the session in one transaction. If the session was
// reset after the turn began, Decide stores nothing and fails with ErrFenced. A second call of Decide for the same turn
// changes nothing, so the caller can repeat a call whose outcome is unknown.
func (s *Store) Decide(ctx context.Context, id string, d chat.Decision) error {
	return s.update(ctx, "decide turn "+id, func(t *tx) {
		row := t.existing(id)
		switch {
		case row.State == chat.TurnDecided:
			return
		case !row.Runs():
			t.fail(store.ErrFenced)
		}
		t.queue(decideTurn, id, d.Ending)
		t.queue(deleteSteps, id) // delete the turn's journal, because the turn will not run again
		t.grow(id, row, d.Growth)
	})
}

// Join assigns waiting messages to a running turn, which then answers these messages too. Join ignores messages that
// are no longer waiting. Join fails with ErrFenced if the turn is not running or is fenced.
func (s *Store) Join(ctx context.Context, id string, messages ...chat.MessageID) error {
	return s.update(ctx, "join turn "+id, func(t *tx) {
		row := t.existing(id)
		if !row.Runs() {
			t.fail(store.ErrFenced)
		}
		t.queue(joinMessages, id, row.Conversation, texts(messages))
	})
}

// Cut replaces the ending in a turn's stored result. If the turn is still running or has already ended, Cut does
// nothing.
func (s *Store) Cut(ctx context.Context, id string, ending []byte) error {
	return s.update(ctx, "cut turn "+id, func(t *tx) {
		t.existing(id)
		t.queue(cutTurn, id, ending)
	})
}

// End marks a turn and its messages as finished. End deletes the texts of the turn's messages and of the reply, and
// keeps their ids for some time. In the same transaction, End adds the parameter g to the turn's session. If the
// session was reset while the turn ran, End adds only the turn's usage and returns no error. If the turn has already
// ended, End changes nothing.
func (s *Store) End(ctx context.Context, id string, g chat.Growth) error {
	return s.update(ctx, "end turn "+id, func(t *tx) {
		row := t.existing(id)
		if row.Ended() {
			return
		}
		t.grow(id, row, row.Additions(g))
		t.endTurn(id, chat.TurnDone)
		t.queue(finishMessages, t.now, id)
	})
}

// Release ends a turn that has answered nothing. After Release, the turn's messages wait again, as if the turn had not
// begun. Release counts the turn's usage nevertheless. If the turn's result is already stored, Release fails with
// ErrFenced. If the turn has already ended, Release changes nothing.
func (s *Store) Release(ctx context.Context, id string, used ...chat.Usage) error {
	return s.update(ctx, "release turn "+id, func(t *tx) {
		row := t.existing(id)
		if row.Ended() {
			return
		}
		if row.State == chat.TurnDecided {
			t.fail(store.ErrFenced)
		}
		t.saveUsage(id, row, used)
		t.endTurn(id, store.Released)
		t.queue(releaseMessages, id, t.self)
	})
}

func (t *tx) endTurn(id string, as chat.TurnState) {
	t.queue(endTurn, id, as, t.now)
	t.all([]string{endParts, deleteSteps}, id)
}

// Unfinished returns the turns that have begun but have not ended, oldest first, with their messages, parts and
// journals. After a restart, the new process continues the turns that Unfinished returns. A turn without messages must
// not run again: its messages belong to other turns, or can't be decoded.
func (s *Store) Unfinished(ctx context.Context) ([]chat.Turn, error) {
	return resultOf(ctx, s.view, "list unfinished turns", func(t *tx) []chat.Turn { return t.turns(listUnfinished) })
}

// turns returns the turns that a query finds. The query is listUnfinished or listTurns. turns adds the messages, parts
// and journals of these turns.
func (t *tx) turns(query string, args ...any) []chat.Turn {
	turns := rows(t, func(t *chat.Turn) []any {
		c, to := &t.Conversation, &t.To
		return []any{
			&t.ID, &c.Endpoint, &c.Chat, &c.Thread, &to.Chat, &to.Thread, &to.Kind, &t.ReplyTo,
			&t.State, &t.Void, &t.Runs, &t.Ending, &t.Began, &t.User, &t.Replaces,
		}
	}, query, args...)
	ids, at := make([]string, len(turns)), make(map[string]*chat.Turn)
	for i := range turns {
		ids[i] = turns[i].ID
		at[turns[i].ID] = &turns[i]
	}
	for _, m := range t.messages(listTaken, ids) {
		at[m.Turn].Messages = append(at[m.Turn].Messages, m.Message)
	}
	for turn, part := range t.parts(ids) {
		at[turn].Parts = append(at[turn].Parts, part)
	}
	for turn, step := range t.steps(ids) {
		at[turn].Steps = append(at[turn].Steps, step)
	}
	for i := range turns {
		turns[i].Void = turns[i].Void || len(turns[i].Messages) == 0
	}
	return turns
}

// turn reads the row of a turn. The transaction must already have locked the turn's conversation.
func (t *tx) turn(id string) (row store.TurnRow) {
	row.Exists = t.first(row.Columns(), findTurn, id)
	return row
}

// existing locks the conversation of a turn and then reads the turn's row, in one round trip. The transaction fails if
// the turn does not exist, or if another replica owns the turn's chat.
func (t *tx) existing(id string) (row store.TurnRow) {
	b := &pgx.Batch{}
	t.fence(b, fenceTurn, id)
	b.Queue(holdConversationOfTurn, id)
	t.row(b, &row.Exists, row.Columns(), findTurn, id)
	if t.send(b); !row.Exists {
		t.fail(store.ErrUnknown)
	}
	return row
}
