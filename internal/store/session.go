package store

import (
	"context"
	"slices"

	"telex/internal/chat"
)

// Session returns a conversation's session and the entries that are not summarized, oldest first. The caller may
// change the returned entries.
func (r *Reader) Session(ctx context.Context, c chat.Conversation) (s chat.Session, entries []chat.Entry, err error) {
	err = r.view(ctx, "read session", func(t *tx) {
		id := t.find(c)
		s = t.session(id)
		entries = t.entries(id, s.SummaryUpto)
	})
	return s, entries, err
}

// Choose stores the model that was chosen for a conversation. If the name of the model is empty, Choose deletes the
// choice.
func (s *Store) Choose(ctx context.Context, c chat.Conversation, model string) error {
	return s.update(ctx, "choose model", func(t *tx) { t.exec(saveModel, t.ensure(c), model) })
}

// Undo deletes the entries of the newest turn that is not summarized, and returns them, oldest first. If there is no
// turn to undo, Undo returns an empty list. Entries that a store with schema 4 or older has stored have no turn. In a
// history of such entries, Undo treats each message of a user as the beginning of a turn. Running turns may have read
// the deleted entries, so the store no longer accepts their summaries. The parameter says describes the turn that
// answers the person's command. In the same transaction in which Undo deletes entries, it begins this turn, unless the
// turn's id is empty.
func (s *Store) Undo(ctx context.Context, c chat.Conversation, says chat.Turn) ([]chat.Entry, error) {
	return resultOf(ctx, s.erase, "undo turn", func(t *tx) (undone []chat.Entry) {
		if says.ID != "" {
			t.begin(says)
		}
		id := t.ensure(c)
		entries := t.entries(id, t.session(id).SummaryUpto)
		if len(entries) == 0 {
			return nil
		}
		undone = newestTurn(entries)
		for _, e := range undone {
			t.exec(deleteEntry, e.ID)
		}
		t.exec(outdateTurns, id)
		return undone
	})
}

// newestTurn returns the entries of the turn that added the last entry. In the history, entries of other turns may be
// between the entries of this turn, because several turns of a conversation may run at the same time.
func newestTurn(entries []chat.Entry) []chat.Entry {
	turn := entries[len(entries)-1].Turn
	if turn != "" {
		return slices.DeleteFunc(entries, func(e chat.Entry) bool { return e.Turn != turn })
	}
	from := len(entries) - 1
	for from > 0 && entries[from-1].Turn == "" && !IsQuestion(entries[from]) {
		from--
	}
	return entries[from:]
}

// Forget deletes the history of a conversation, its summary and its permanent approvals. The model that was chosen for
// the conversation stays. A turn that was running when Forget was called can't add to the history any more, not even
// the turn of the command that called Forget. For a turn that was running when Forget was called, Decide fails with
// ErrFenced, and End stores only usage. Forget keeps the ids of messages, so that no message is answered twice.
func (s *Store) Forget(ctx context.Context, c chat.Conversation) error {
	return s.erase(ctx, "forget history", func(t *tx) {
		t.all([]string{deleteEntries, dropSummary, deleteConsents, fenceTurns, outdateTurns}, t.ensure(c))
	})
}

// session returns the stored session of a conversation, or an empty session if none is stored.
func (t *tx) session(conversation int64) (s chat.Session) {
	t.first([]any{&s.Model, &s.Summary, &s.SummaryUpto, &s.Compactions, (*storedTime)(&s.At)}, findSession, conversation)
	return s
}

// entries returns those entries of a conversation whose ids are greater than the parameter behind.
func (t *tx) entries(conversation, behind int64) []chat.Entry {
	return rows(t, func(e *chat.Entry) []any {
		return []any{&e.ID, &e.Turn, &e.User, (*storedTime)(&e.At), &e.Body}
	}, listEntries, conversation, behind)
}

// grow adds a turn's entries, usage and compaction to its session. If the turn adds entries, and if it replaces an
// earlier turn, grow deletes the entries of the earlier turn.
func (t *tx) grow(turn string, row TurnRow, g chat.Growth) {
	if row.Replaces != "" && len(g.History) > 0 {
		t.exec(deleteTurnEntries, row.Conversation, row.Replaces)
	}
	for _, body := range g.History {
		t.exec(addEntry, row.Conversation, turn, row.User, t.now, string(body))
	}
	t.saveUsage(turn, row, g.Usage)
	if g.Compaction != nil && !row.Stale {
		t.exec(saveCompaction, row.Conversation, g.Compaction.Summary, g.Compaction.Upto, t.now)
	}
}

// join merges the session of the conversation id into the session of the conversation owner. If one of the sessions has
// a summary, the entries that no summary covers get new ids. The new ids must be larger than the ids of the entries
// that a summary covers.
func (t *tx) join(owner, id int64) {
	into, from := t.session(owner), t.session(id)
	joined := into.Join(from)
	if joined.SummaryUpto > 0 {
		live := []any{owner, into.SummaryUpto, id, from.SummaryUpto}
		var newest int64
		t.first([]any{&newest}, newestEntry)
		t.exec(repeatEntries, append([]any{owner}, live...)...)
		t.exec(deleteRepeated, append(live, newest)...)
	}
	t.exec(deleteSession, id)
	t.exec(saveSession, owner, joined.Model, joined.Summary, joined.SummaryUpto, int64(joined.Compactions), millis(joined.At))
}
