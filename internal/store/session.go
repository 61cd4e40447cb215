package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"telex/internal/chat"
)

// Session returns a conversation's session and the entries that no summary stands for, oldest first, as they were
// given. The result is the caller's.
func (r *Reader) Session(ctx context.Context, c chat.Conversation) (s chat.Session, entries []chat.Entry, err error) {
	err = r.view(ctx, "read session", func(t *tx) error {
		id, err := t.find(ctx, c)
		if err != nil {
			return err
		}
		if s, err = t.session(ctx, id); err != nil {
			return err
		}
		entries, err = t.entries(ctx, listEntries, id, s.SummaryUpto)
		return err
	})
	return s, entries, err
}

// Choose stores which model answers in a conversation from now on; empty: none is chosen.
func (s *Store) Choose(ctx context.Context, c chat.Conversation, model string) error {
	return s.update(ctx, "choose model", func(t *tx) error {
		id, err := t.take(ctx, c)
		if err != nil {
			return err
		}
		_, err = t.exec(ctx, saveModel, id, model)
		return err
	})
}

// Undo deletes the entries of the newest turn that no summary stands for, and returns them, oldest first; none when
// there is nothing to delete. What schema 4 and older stored tells no turn: there one begins with a user's message.
// The turns that are running know what was undone: they can't make summaries any more. In the same transaction it
// begins the turn that says so, unless that has no ID.
func (s *Store) Undo(ctx context.Context, c chat.Conversation, says chat.Turn) (undone []chat.Entry, err error) {
	err = s.erase(ctx, "undo turn", func(t *tx) error {
		undone = nil
		if says.ID != "" {
			if err := t.begin(ctx, says); err != nil {
				return err
			}
		}
		id, err := t.take(ctx, c)
		if err != nil {
			return err
		}
		session, err := t.session(ctx, id)
		if err != nil {
			return err
		}
		entries, err := t.entries(ctx, listEntries, id, session.SummaryUpto)
		if err != nil || len(entries) == 0 {
			return err
		}
		undone = newestTurn(entries)
		for _, e := range undone {
			if _, err := t.exec(ctx, deleteEntry, e.ID); err != nil {
				return err
			}
		}
		_, err = t.exec(ctx, outdateTurns, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return undone, nil
}

// newestTurn returns the entries of the turn that added the last entry. They need not be adjacent: turns of one conversation
// run at the same time.
func newestTurn(entries []chat.Entry) []chat.Entry {
	turn := entries[len(entries)-1].Turn
	if turn != "" {
		return slices.DeleteFunc(entries, func(e chat.Entry) bool { return e.Turn != turn })
	}
	from := len(entries) - 1
	for from > 0 && entries[from-1].Turn == "" && !asks(entries[from]) {
		from--
	}
	return entries[from:]
}

// asks reports whether an entry is what a user said.
func asks(e chat.Entry) bool {
	var m struct {
		Role string `json:"role"`
	}
	return json.Unmarshal(e.Body, &m) == nil && m.Role == "user"
}

// Forget deletes the history of a conversation, its summary and what people approved there; the chosen model stays. The turns that are running,
// that of the command which asked for it included, can't add to it any more: their Decide fails with ErrFenced, and
// their End drops all but what they used. The keys of messages stay, so that none is answered twice.
func (s *Store) Forget(ctx context.Context, c chat.Conversation) error {
	return s.erase(ctx, "forget history", func(t *tx) error {
		id, err := t.take(ctx, c)
		if err != nil {
			return err
		}
		return t.all(ctx, []string{deleteEntries, dropSummary, deleteConsents, fenceTurns, outdateTurns}, id)
	})
}

// session reads a conversation's session; one that was never stored is empty.
func (t *tx) session(ctx context.Context, conversation int64) (s chat.Session, err error) {
	var at int64
	_, err = t.first(ctx, []any{&s.Model, &s.Summary, &s.SummaryUpto, &s.Compactions, &at}, findSession, conversation)
	s.At = instant(at)
	return s, err
}

func (t *tx) entries(ctx context.Context, query string, args ...any) (entries []chat.Entry, err error) {
	err = t.each(ctx, func(rows *sql.Rows) error {
		var e chat.Entry
		var at int64
		err := rows.Scan(&e.ID, &e.Turn, &e.User, &at, &e.Body)
		e.At = instant(at)
		entries = append(entries, e)
		return err
	}, query, args...)
	return entries, err
}

// grow adds a turn's entries, usage and compaction to its session. The turn that it replaces is deleted only if there are new
// entries.
func (t *tx) grow(ctx context.Context, turn string, row turnRow, g chat.Growth) error {
	if row.replaces != "" && len(g.History) > 0 {
		if _, err := t.exec(ctx, deleteTurnEntries, row.conversation, row.replaces); err != nil {
			return err
		}
	}
	if err := t.appendEntries(ctx, turn, row, g.History); err != nil {
		return err
	}
	if err := t.saveUsage(ctx, turn, row, g.Usage); err != nil {
		return err
	}
	if g.Compaction == nil || row.stale {
		return nil
	}
	_, err := t.exec(ctx, saveCompaction, row.conversation, g.Compaction.Summary, g.Compaction.Upto, t.now)
	return err
}

func (t *tx) appendEntries(ctx context.Context, turn string, row turnRow, entries [][]byte) error {
	for _, body := range entries {
		if _, err := t.exec(ctx, addEntry, row.conversation, turn, row.user, t.now, string(body)); err != nil {
			return err
		}
	}
	return nil
}

// join merges the sessions of two conversations into owner. If there is a summary, the entries that are not part of it get new
// numbers, because they must come after the summarized ones.
func (t *tx) join(ctx context.Context, owner, id int64) error {
	into, err := t.session(ctx, owner)
	if err != nil {
		return err
	}
	from, err := t.session(ctx, id)
	if err != nil {
		return err
	}
	joined := into.Join(from)
	if joined.SummaryUpto > 0 {
		live := []any{owner, into.SummaryUpto, id, from.SummaryUpto}
		var newest int64
		if _, err := t.first(ctx, []any{&newest}, newestEntry); err != nil {
			return err
		}
		if _, err := t.exec(ctx, repeatEntries, append([]any{owner}, live...)...); err != nil {
			return err
		}
		if _, err := t.exec(ctx, deleteRepeated, append(live, newest)...); err != nil {
			return err
		}
	}
	if _, err := t.exec(ctx, deleteSession, id); err != nil {
		return err
	}
	_, err = t.exec(ctx, saveSession, owner, joined.Model, joined.Summary, joined.SummaryUpto, int64(joined.Compactions), millis(joined.At))
	return err
}
