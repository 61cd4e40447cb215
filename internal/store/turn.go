package store

import (
	"context"
	"slices"

	"telex/internal/chat"
)

// Released is the state of a turn that ended before it answered anything. Package chat has the other states.
const Released chat.TurnState = "released"

// Begin stores that a turn answers messages, before anything is sent. A turn with an ending is decided at once. Begin
// fails with ErrUnknown if a message is missing or finished. Several turns of one conversation may run at the same
// time, such as the answer to a command and that of the model. If another turn has some of the messages, it loses
// them to this turn and keeps its other messages.
//
// An unfinished turn can begin again under its id. Then only the number of its runs and the number of its messages'
// attempts increase, and the rest of t is ignored. For a decided, fenced or ended turn, Begin fails with ErrFenced.
func (s *Store) Begin(ctx context.Context, t chat.Turn) error {
	return s.update(ctx, "begin turn "+t.ID, func(tx *tx) { tx.begin(t) })
}

// begin is like Begin, within a transaction.
func (t *tx) begin(turn chat.Turn) {
	row := t.turn(turn.ID)
	if row.Exists {
		if !row.Runs() {
			t.fail(ErrFenced)
		}
		t.all([]string{rerunTurn, retakeMessages}, turn.ID)
		return
	}
	conversation := t.ensure(turn.Conversation)
	acceptedAt := t.claim(turn.ID, conversation, turn.Messages)
	state := chat.TurnRunning
	if len(turn.Ending) > 0 {
		state = chat.TurnDecided
	}
	// The turn answers in the chat's current id. In that chat, the id of the asker's message belongs to another
	// message.
	old := turn.Conversation.Chat
	if now := t.currentChat(turn.Conversation.Endpoint, old); now != old && turn.To.Chat == old {
		turn.To.Chat, turn.ReplyTo = now, ""
	}
	if n := len(turn.Messages); turn.User == "" && n > 0 {
		turn.User = turn.Messages[n-1].Sender.ID
	}
	t.exec(beginTurn, turn.ID, conversation, turn.To.Chat, turn.To.Thread, int64(turn.To.Kind), turn.ReplyTo,
		string(state), string(turn.Ending), turn.User, turn.Replaces, acceptedAt, t.now)
}

// Decide stores the result of a running turn and its additions to the session in one transaction. If the session was
// reset since the turn began, it stores nothing and fails with ErrFenced. Deciding again changes nothing, so a call
// with an unknown outcome can be repeated.
func (s *Store) Decide(ctx context.Context, id string, d chat.Decision) error {
	return s.update(ctx, "decide turn "+id, func(t *tx) {
		row := t.mustFindTurn(id)
		switch {
		case row.State == chat.TurnDecided:
			return
		case !row.Runs():
			t.fail(ErrFenced)
		}
		t.exec(decideTurn, string(d.Ending), id)
		t.exec(deleteSteps, id) // delete the journal: the turn will not run again
		t.grow(id, row, d.Growth)
	})
}

// Join assigns waiting messages to a running turn, which then answers them too. It ignores messages that are no longer
// waiting. It fails with ErrFenced if the turn is not running or is fenced.
func (s *Store) Join(ctx context.Context, id string, messages ...chat.MessageID) error {
	return s.update(ctx, "join turn "+id, func(t *tx) {
		row := t.mustFindTurn(id)
		if !row.Runs() {
			t.fail(ErrFenced)
		}
		for _, m := range messages {
			if waiting, ok := t.waitingMessage(row.Conversation, m); ok {
				t.exec(takeMessage, id, waiting)
			}
		}
	})
}

// Cut replaces the ending of a decided turn. It does nothing if the turn is not decided.
func (s *Store) Cut(ctx context.Context, id string, ending []byte) error {
	return s.update(ctx, "cut turn "+id, func(t *tx) {
		t.mustFindTurn(id)
		t.exec(cutTurn, string(ending), id)
	})
}

// End finishes a turn and its messages. Their texts are deleted; the ids stay for some time. In the same transaction
// the session gets the turn's additions. If the session was reset while the turn ran, only the usage is added, without
// an error, and the turn's texts are overwritten in the store's files. Ending an ended turn changes nothing.
func (s *Store) End(ctx context.Context, id string, g chat.Growth) error {
	forgotten := false
	err := s.update(ctx, "end turn "+id, func(t *tx) {
		row := t.mustFindTurn(id)
		if row.Ended() {
			return
		}
		forgotten = row.Fenced
		t.grow(id, row, row.Additions(g))
		t.endTurn(id, chat.TurnDone)
		t.exec(finishMessages, t.now, id)
	})
	if err != nil || !forgotten {
		return err
	}
	return s.erase(ctx, "overwrite turn "+id, func(*tx) {})
}

// Release ends a turn that answered nothing. Its messages wait again, as if it had not begun. Its usage counts. For a
// decided turn, Release fails with ErrFenced. Releasing an ended turn changes nothing.
func (s *Store) Release(ctx context.Context, id string, used ...chat.Usage) error {
	return s.update(ctx, "release turn "+id, func(t *tx) {
		row := t.mustFindTurn(id)
		if row.Ended() {
			return
		}
		if row.State == chat.TurnDecided {
			t.fail(ErrFenced)
		}
		t.saveUsage(id, row, used)
		t.endTurn(id, Released)
		t.exec(releaseMessages, id)
	})
}

func (t *tx) endTurn(id string, as chat.TurnState) {
	t.exec(endTurn, string(as), t.now, id)
	t.all([]string{endParts, deleteSteps}, id)
}

// Unfinished returns the turns that have begun and not ended, oldest first, with their messages, parts and journals.
// A new process continues them. A turn without messages is void and must not run again: its messages belong to other
// turns, or can't be read.
func (r *Reader) Unfinished(ctx context.Context) ([]chat.Turn, error) {
	return resultOf(ctx, r.view, "list unfinished turns", func(t *tx) (turns []chat.Turn) {
		turns = rows(t, func(t *chat.Turn) []any {
			c, to := &t.Conversation, &t.To
			return []any{
				&t.ID, &c.Endpoint, &c.Chat, &c.Thread, &to.Chat, &to.Thread, &to.Kind, &t.ReplyTo,
				&t.State, &t.Void, &t.Runs, &t.Ending, (*storedTime)(&t.Began), &t.User, &t.Replaces,
			}
		}, listTurns)
		for i := range turns {
			turn := &turns[i]
			for _, p := range t.pending(listTaken, turn.ID) {
				turn.Messages = append(turn.Messages, p.Message)
			}
			turn.Void = turn.Void || len(turn.Messages) == 0
			turn.Parts, turn.Steps = t.parts(turn.ID), t.steps(turn.ID)
		}
		return turns
	})
}

// TurnRow is the state that decides whether a turn may write. Package postgres uses it, too.
type TurnRow struct {
	Exists       bool
	Conversation int64
	State        chat.TurnState
	Fenced       bool
	Stale        bool // the store accepts no summary of the turn
	User         chat.UserID
	Replaces     string
}

// Columns returns the destinations for the columns of a query of turns.
func (r *TurnRow) Columns() []any {
	return []any{&r.Conversation, &r.State, &r.Fenced, &r.Stale, &r.User, &r.Replaces}
}

// Runs reports whether the turn is running and may add to the history.
func (r TurnRow) Runs() bool { return r.State == chat.TurnRunning && !r.Fenced }

// Ended reports whether the turn is over.
func (r TurnRow) Ended() bool { return r.State != chat.TurnRunning && r.State != chat.TurnDecided }

// Additions returns the part of g that the session gets when the turn ends.
func (r TurnRow) Additions(g chat.Growth) chat.Growth {
	if r.State == chat.TurnRunning {
		g.Usage = slices.Concat(g.Usage, g.Undecided)
	}
	if r.Fenced {
		return chat.Growth{Usage: g.Usage}
	}
	return g
}

func (t *tx) turn(id string) (row TurnRow) {
	row.Exists = t.first(row.Columns(), findTurn, id)
	return row
}

// mustFindTurn is like turn, but fails if the turn does not exist.
func (t *tx) mustFindTurn(id string) TurnRow {
	row := t.turn(id)
	if !row.Exists {
		t.fail(ErrUnknown)
	}
	return row
}
