package store

import (
	"context"
	"slices"

	"telex/internal/chat"
)

// Released is the state of a turn that was released: it ended before it answered anything. The other states of turns
// are in package chat.
const Released chat.TurnState = "released"

// Begin stores that a turn begins to answer messages. Begin must be called before the first message of the reply is
// sent. If the turn already has an Ending, Begin stores the turn's result at once, and no model needs to run. Begin
// fails with ErrUnknown if one of the turn's messages is missing or finished. Several turns of a conversation may run
// at the same time: one may answer a command while another calls the model. If another turn already has some of the
// messages, these messages belong only to the new turn from now on.
//
// Begin may be called again with the id of an unfinished turn, for example by the next process after a crash. If the
// unfinished turn is already stored, Begin only counts one more run, for the turn and for each of its messages, and
// ignores the other fields of t. Begin fails with ErrFenced if the turn's result is stored, or if the turn is fenced or
// has ended.
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
	// The turn must answer in the chat with the newest id. In the chat with the newest id, the id of the asker's message
	// may belong to another message, so the answer must not refer to it.
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
// reset after the turn began, Decide stores nothing and fails with ErrFenced. A second call of Decide for the same turn
// changes nothing, so the caller can repeat a call whose outcome is unknown.
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
		t.exec(deleteSteps, id) // delete the turn's journal, because the turn will not run again
		t.grow(id, row, d.Growth)
	})
}

// Join assigns waiting messages to a running turn, which then answers these messages too. Join ignores messages that
// are no longer waiting. Join fails with ErrFenced if the turn is not running or is fenced.
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

// Cut replaces the ending in a turn's stored result. If the turn is still running or has already ended, Cut does
// nothing.
func (s *Store) Cut(ctx context.Context, id string, ending []byte) error {
	return s.update(ctx, "cut turn "+id, func(t *tx) {
		t.mustFindTurn(id)
		t.exec(cutTurn, string(ending), id)
	})
}

// End marks a turn and its messages as finished. End deletes the texts of the turn's messages and of the reply, and
// keeps their ids for some time. In the same transaction, End adds the parameter g to the turn's session. If the
// session was reset while the turn ran, End adds only the turn's usage and returns no error. If the session was reset
// while the turn ran, End also makes the turn's texts unreadable in the store's files. If the turn has already ended,
// End changes nothing.
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

// Release ends a turn that has answered nothing. After Release, the turn's messages wait again, as if the turn had not
// begun. Release counts the turn's usage nevertheless. If the turn's result is already stored, Release fails with
// ErrFenced. If the turn has already ended, Release changes nothing.
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

// Unfinished returns the turns that have begun but have not ended, oldest first, with their messages, parts and
// journals. After a restart, the new process continues the turns that Unfinished returns. A turn without messages must
// not run again: its messages belong to other turns, or can't be decoded.
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

// TurnRow contains the columns of a turn from which the store determines what the turn may still write. The package
// postgres uses this type, too.
type TurnRow struct {
	Exists       bool
	Conversation int64
	State        chat.TurnState
	Fenced       bool
	Stale        bool // the session has changed, so the store accepts no summary from the turn
	User         chat.UserID
	Replaces     string
}

// Columns returns pointers to the fields into which the columns of a turn query are scanned.
func (r *TurnRow) Columns() []any {
	return []any{&r.Conversation, &r.State, &r.Fenced, &r.Stale, &r.User, &r.Replaces}
}

// Runs reports whether the turn is running and may add to the history.
func (r TurnRow) Runs() bool { return r.State == chat.TurnRunning && !r.Fenced }

// Ended reports whether the turn has ended.
func (r TurnRow) Ended() bool { return r.State != chat.TurnRunning && r.State != chat.TurnDecided }

// Additions returns the part of g that the store adds to the session when the turn ends.
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

// mustFindTurn is like the method turn, but makes the transaction fail if the turn does not exist.
func (t *tx) mustFindTurn(id string) TurnRow {
	row := t.turn(id)
	if !row.Exists {
		t.fail(ErrUnknown)
	}
	return row
}
