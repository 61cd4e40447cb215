package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"telex/internal/chat"
)

// TurnState says how far a turn is.
type TurnState string

// The states of a turn. The first two are unfinished.
const (
	Running  TurnState = "running"  // begun, no result yet
	Decided  TurnState = "decided"  // the final text is known; what is left is to deliver it
	Done     TurnState = "done"     // delivered
	Closed   TurnState = "closed"   // given up, and the person told so
	Released TurnState = "released" // ended before it showed anything; its messages wait for another turn
)

// TurnRecord is a turn. Begin reads the fields above the line, Unfinished fills all.
type TurnRecord struct {
	ID           string
	Conversation chat.Conversation
	Messages     []chat.MessageID
	To           chat.Target    // where the reply goes
	ReplyTo      chat.MessageID // what it visibly answers; may be empty

	State      TurnState
	Fenced     bool      // may not decide any more: the session was reset
	Runs       int       // how often it was begun
	AcceptedAt time.Time // when the oldest of its messages was accepted
	BegunAt    time.Time // when it was begun first
	Ending     []byte    // the Decision's, once decided
	Usage      []byte    // the Decision's, once decided
	Parts      []Part
}

// Decision is the result of a turn. The store reads none of it.
type Decision struct {
	Ending  []byte   // the final as it must stand; text, JSON most likely
	Usage   []byte   // likewise
	History [][]byte // what the conversation's history grows by
}

// Begin stores, before anything is sent, that a turn answers messages. One whose ending is known from the start is
// decided at once. It fails with ErrUnknown when one of them
// is not there or finished. What other turns had of these messages they lose to this one, and nothing else: turns
// of one conversation may run side by side, as the answer to a command does beside the model's.
//
// A turn that is unfinished is begun again under its id: then only the number of runs and the messages'
// attempts grow, and the rest of t is ignored. A decided, fenced or ended one can't: ErrFenced.
func (s *Store) Begin(ctx context.Context, t TurnRecord) error {
	return s.update(ctx, "begin turn "+t.ID, func(tx *tx) error {
		row, err := tx.turn(ctx, t.ID)
		if err != nil {
			return err
		}
		if row.exists {
			if row.state != Running || row.fenced {
				return ErrFenced
			}
			return tx.all(ctx, []string{rerunTurn, retakeMessages}, t.ID)
		}
		conversation, err := tx.take(ctx, t.Conversation)
		if err != nil {
			return err
		}
		acceptedAt, err := tx.claim(ctx, t.ID, conversation, t.Messages)
		if err != nil {
			return err
		}
		state := Running
		if len(t.Ending) > 0 {
			state = Decided
		}
		_, err = tx.exec(ctx, beginTurn, t.ID, conversation, t.To.Chat, t.To.Thread, int64(t.To.Kind), t.ReplyTo,
			string(state), string(t.Ending), acceptedAt, tx.now)
		return err
	})
}

// Decide stores the result of a running turn and its history in one step. When the session was reset since it
// began, nothing is stored: ErrFenced. To decide again changes nothing, so that a call of unknown outcome can be
// repeated.
func (s *Store) Decide(ctx context.Context, id string, d Decision) error {
	return s.update(ctx, "decide turn "+id, func(t *tx) error {
		row, err := t.existing(ctx, id)
		if err != nil {
			return err
		}
		switch {
		case row.state == Decided:
			return nil
		case row.state != Running, row.fenced:
			return ErrFenced
		}
		if _, err := t.exec(ctx, decideTurn, string(d.Ending), string(d.Usage), id); err != nil {
			return err
		}
		return t.appendEntries(ctx, row.conversation, d.History)
	})
}

// End finishes a turn as Done or Closed, and its messages with it; what they said and what was answered is
// removed, the ids stay for a while. In the same step the history grows by what is given, unless the session was
// reset while the turn ran: then that is dropped, without an error. As Released it finishes only the turn: its
// messages wait again, as if it had not been begun; a decided turn can't be released. To end an ended turn
// changes nothing.
func (s *Store) End(ctx context.Context, id string, as TurnState, history ...[]byte) error {
	if as != Done && as != Closed && as != Released {
		return fmt.Errorf("end turn %s: %q is no end", id, as)
	}
	return s.update(ctx, "end turn "+id, func(t *tx) error {
		row, err := t.existing(ctx, id)
		switch {
		case err != nil:
			return err
		case row.ended():
			return nil
		case as == Released && row.state == Decided:
			return ErrFenced
		}
		if !row.fenced {
			if err := t.appendEntries(ctx, row.conversation, history); err != nil {
				return err
			}
		}
		if _, err := t.exec(ctx, endTurn, string(as), t.now, id); err != nil {
			return err
		}
		if _, err := t.exec(ctx, endParts, id); err != nil {
			return err
		}
		if as == Released {
			_, err := t.exec(ctx, releaseMessages, id)
			return err
		}
		_, err = t.exec(ctx, finishMessages, t.now, id)
		return err
	})
}

// Unfinished returns the turns that were begun and not ended, oldest first, with their parts: what a start has
// to take up again.
func (r *Reader) Unfinished(ctx context.Context) (turns []TurnRecord, err error) {
	err = r.view(ctx, "list unfinished turns", func(t *tx) error {
		err := t.each(ctx, func(rows *sql.Rows) error {
			turn, err := scanTurn(rows)
			turns = append(turns, turn)
			return err
		}, listTurns)
		if err != nil {
			return err
		}
		for i := range turns {
			turn := &turns[i]
			if turn.Messages, err = t.messages(ctx, turn.ID); err != nil {
				return err
			}
			if turn.Parts, err = t.parts(ctx, turn.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return turns, err
}

func scanTurn(rows *sql.Rows) (t TurnRecord, err error) {
	var accepted, begun int64
	err = rows.Scan(&t.ID, &t.Conversation.Endpoint, &t.Conversation.Chat, &t.Conversation.Thread,
		&t.To.Chat, &t.To.Thread, &t.To.Kind, &t.ReplyTo,
		&t.State, &t.Fenced, &t.Runs, &t.Ending, &t.Usage, &accepted, &begun)
	t.AcceptedAt, t.BegunAt = instant(accepted), instant(begun)
	return t, err
}

func (t *tx) messages(ctx context.Context, turn string) (ids []chat.MessageID, err error) {
	err = t.each(ctx, func(rows *sql.Rows) error {
		var id chat.MessageID
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, messagesOf, turn)
	return ids, err
}

// turnRow is what decides whether a turn may write.
type turnRow struct {
	exists       bool
	conversation int64
	state        TurnState
	fenced       bool
}

func (r turnRow) ended() bool { return r.state != Running && r.state != Decided }

func (t *tx) turn(ctx context.Context, id string) (row turnRow, err error) {
	row.exists, err = t.first(ctx, []any{&row.conversation, &row.state, &row.fenced}, findTurn, id)
	return row, err
}

// existing is turn for one that must be there.
func (t *tx) existing(ctx context.Context, id string) (turnRow, error) {
	row, err := t.turn(ctx, id)
	if err == nil && !row.exists {
		err = ErrUnknown
	}
	return row, err
}
