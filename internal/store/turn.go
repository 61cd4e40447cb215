package store

import (
	"context"
	"database/sql"
	"slices"

	"telex/internal/chat"
)

// released is the state of a turn that ended before it answered anything. The other states are chat's.
const released chat.TurnState = "released"

// Begin stores, before anything is sent, that a turn answers messages. A turn with an ending is decided at once. Begin fails with
// ErrUnknown if a message is missing or finished. Other turns lose these messages to this one and keep the rest: turns of one
// conversation may run at the same time, such as a command's answer and the model's.
//
// An unfinished turn can begin again under its id. Then only the number of runs and of the messages' attempts grow, and the
// rest of t is ignored. A decided, fenced or ended turn can't: ErrFenced.
func (s *Store) Begin(ctx context.Context, t chat.Turn) error {
	return s.update(ctx, "begin turn "+t.ID, func(tx *tx) error { return tx.begin(ctx, t) })
}

// begin is Begin within a transaction.
func (t *tx) begin(ctx context.Context, turn chat.Turn) error {
	row, err := t.turn(ctx, turn.ID)
	if err != nil {
		return err
	}
	if row.exists {
		if row.state != chat.TurnRunning || row.fenced {
			return ErrFenced
		}
		return t.all(ctx, []string{rerunTurn, retakeMessages}, turn.ID)
	}
	conversation, err := t.take(ctx, turn.Conversation)
	if err != nil {
		return err
	}
	acceptedAt, err := t.claim(ctx, turn.ID, conversation, turn.Messages)
	if err != nil {
		return err
	}
	state := chat.TurnRunning
	if len(turn.Ending) > 0 {
		state = chat.TurnDecided
	}
	if err := t.follow(ctx, &turn); err != nil {
		return err
	}
	if n := len(turn.Messages); turn.User == "" && n > 0 {
		turn.User = turn.Messages[n-1].Sender.ID
	}
	_, err = t.exec(ctx, beginTurn, turn.ID, conversation, turn.To.Chat, turn.To.Thread, int64(turn.To.Kind), turn.ReplyTo,
		string(state), string(turn.Ending), turn.User, turn.Replaces, acceptedAt, t.now)
	return err
}

// follow makes a turn answer where its chat is now. The asking message's id is another message's there.
func (t *tx) follow(ctx context.Context, turn *chat.Turn) error {
	c := turn.Conversation
	now, err := t.whereIs(ctx, c.Endpoint, c.Chat)
	if err == nil && now != c.Chat && turn.To.Chat == c.Chat {
		turn.To.Chat, turn.ReplyTo = now, ""
	}
	return err
}

// Decide stores the result of a running turn and its additions to the session in one transaction. If the session was reset since
// the turn began, nothing is stored: ErrFenced. Deciding again changes nothing, so a call with an unknown outcome can be repeated.
func (s *Store) Decide(ctx context.Context, id string, d chat.Decision) error {
	return s.update(ctx, "decide turn "+id, func(t *tx) error {
		row, err := t.existing(ctx, id)
		if err != nil {
			return err
		}
		switch {
		case row.state == chat.TurnDecided:
			return nil
		case row.state != chat.TurnRunning, row.fenced:
			return ErrFenced
		}
		if _, err := t.exec(ctx, decideTurn, string(d.Ending), id); err != nil {
			return err
		}
		if _, err := t.exec(ctx, deleteSteps, id); err != nil { // it will not run again
			return err
		}
		return t.grow(ctx, id, row, d.Growth)
	})
}

// Join gives messages that wait to a running turn, which answers them too. It leaves alone what does not wait any
// more. A turn that is not running, or fenced, takes none: ErrFenced.
func (s *Store) Join(ctx context.Context, id string, messages ...chat.MessageID) error {
	return s.update(ctx, "join turn "+id, func(t *tx) error {
		row, err := t.existing(ctx, id)
		switch {
		case err != nil:
			return err
		case row.state != chat.TurnRunning, row.fenced:
			return ErrFenced
		}
		for _, m := range messages {
			found, err := t.unfinished(ctx, row.conversation, m)
			if err != nil {
				return err
			}
			if len(found) == 0 || found[0].state != inboxPending {
				continue
			}
			if _, err := t.exec(ctx, takeMessage, id, found[0].id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Cut replaces the ending of a decided turn. To any other it does nothing.
func (s *Store) Cut(ctx context.Context, id string, ending []byte) error {
	return s.update(ctx, "cut turn "+id, func(t *tx) error {
		if _, err := t.existing(ctx, id); err != nil {
			return err
		}
		_, err := t.exec(ctx, cutTurn, string(ending), id)
		return err
	})
}

// End finishes a turn and its messages. Their texts are removed; the ids stay for a while. In the same transaction the session
// gets the turn's additions. If the session was reset while the turn ran, only the usage is added, without an error, and the
// turn's texts are overwritten in the store's files. Ending an ended turn changes nothing.
func (s *Store) End(ctx context.Context, id string, g chat.Growth) error {
	forgotten := false
	err := s.update(ctx, "end turn "+id, func(t *tx) error {
		row, err := t.existing(ctx, id)
		if err != nil || row.ended() {
			return err
		}
		forgotten = row.fenced
		grown := g
		if row.state == chat.TurnRunning {
			grown.Usage = slices.Concat(g.Usage, g.Undecided)
		}
		if row.fenced {
			grown = chat.Growth{Usage: grown.Usage}
		}
		if err := t.grow(ctx, id, row, grown); err != nil {
			return err
		}
		if err := t.endTurn(ctx, id, chat.TurnDone); err != nil {
			return err
		}
		_, err = t.exec(ctx, finishMessages, t.now, id)
		return err
	})
	if err != nil || !forgotten {
		return err
	}
	return s.erase(ctx, "overwrite turn "+id, func(*tx) error { return nil })
}

// Release ends a turn that answered nothing: its messages wait again, as if it had not begun. A decided turn can't be released:
// ErrFenced. Its usage counts. Releasing an ended turn changes nothing.
func (s *Store) Release(ctx context.Context, id string, used ...chat.Usage) error {
	return s.update(ctx, "release turn "+id, func(t *tx) error {
		row, err := t.existing(ctx, id)
		switch {
		case err != nil, row.ended():
			return err
		case row.state == chat.TurnDecided:
			return ErrFenced
		}
		if err := t.saveUsage(ctx, id, row, used); err != nil {
			return err
		}
		if err := t.endTurn(ctx, id, released); err != nil {
			return err
		}
		_, err = t.exec(ctx, releaseMessages, id)
		return err
	})
}

func (t *tx) endTurn(ctx context.Context, id string, as chat.TurnState) error {
	if _, err := t.exec(ctx, endTurn, string(as), t.now, id); err != nil {
		return err
	}
	return t.all(ctx, []string{endParts, deleteSteps}, id)
}

// Unfinished returns the turns that have begun and not ended, oldest first, with their messages, parts and journals. A new process
// continues them. A turn without messages, because other turns have them or they can't be read, is void: it must not run again.
func (r *Reader) Unfinished(ctx context.Context) (turns []chat.Turn, err error) {
	err = r.view(ctx, "list unfinished turns", func(t *tx) error {
		turns = nil
		err := t.each(ctx, func(rows *sql.Rows) error {
			turn, err := scanTurn(rows)
			turns = append(turns, turn)
			return err
		}, listTurns)
		if err != nil {
			return err
		}
		for i := range turns {
			if err := t.fill(ctx, &turns[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return turns, err
}

func scanTurn(rows *sql.Rows) (t chat.Turn, err error) {
	var accepted int64
	err = rows.Scan(&t.ID, &t.Conversation.Endpoint, &t.Conversation.Chat, &t.Conversation.Thread,
		&t.To.Chat, &t.To.Thread, &t.To.Kind, &t.ReplyTo, &t.State, &t.Void, &t.Runs, &t.Ending, &accepted, &t.User, &t.Replaces)
	t.Began = instant(accepted)
	return t, err
}

// fill reads what a turn answers, what stands of it and what it has done.
func (t *tx) fill(ctx context.Context, turn *chat.Turn) (err error) {
	err = t.each(ctx, func(rows *sql.Rows) error {
		p, ok, err := t.scanPending(rows)
		if ok {
			turn.Messages = append(turn.Messages, p.Message)
		}
		return err
	}, listTaken, turn.ID)
	if err != nil {
		return err
	}
	turn.Void = turn.Void || len(turn.Messages) == 0
	if turn.Parts, err = t.parts(ctx, turn.ID); err != nil {
		return err
	}
	turn.Steps, err = t.steps(ctx, turn.ID)
	return err
}

// turnRow is what decides whether a turn may write.
type turnRow struct {
	exists       bool
	conversation int64
	state        chat.TurnState
	fenced       bool
	stale        bool // it may make no summary
	user         chat.UserID
	replaces     string
}

func (r turnRow) ended() bool { return r.state != chat.TurnRunning && r.state != chat.TurnDecided }

func (t *tx) turn(ctx context.Context, id string) (row turnRow, err error) {
	row.exists, err = t.first(ctx, []any{&row.conversation, &row.state, &row.fenced, &row.stale, &row.user, &row.replaces}, findTurn, id)
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
