package postgres

import (
	"cmp"
	"context"
	"slices"

	"telex/internal/chat"
	"telex/internal/store"
)

// Session returns a conversation's session and the entries that are not summarized, oldest first. The caller may
// change the returned entries.
func (s *Store) Session(ctx context.Context, c chat.Conversation) (session chat.Session, entries []chat.Entry, err error) {
	err = s.view(ctx, "read session", func(t *tx) {
		id := t.find(c)
		session = t.session(id)
		entries = t.entries(id, session.SummaryUpto)
	})
	return session, entries, err
}

// Transcript is like Session, but it also returns the entries that are summarized.
func (s *Store) Transcript(ctx context.Context, c chat.Conversation) (session chat.Session, entries []chat.Entry, err error) {
	err = s.view(ctx, "read transcript", func(t *tx) {
		id := t.find(c)
		session, entries = t.session(id), t.entries(id, 0)
	})
	return session, entries, err
}

// Sessions returns the conversations that have entries, a summary or a chosen model, ordered by their newest entry.
func (s *Store) Sessions(ctx context.Context) ([]store.SessionInfo, error) {
	return resultOf(ctx, s.view, "list sessions", func(t *tx) []store.SessionInfo {
		return rows(t, func(i *store.SessionInfo) []any {
			c := &i.Conversation
			return []any{&c.Endpoint, &c.Chat, &c.Thread, &i.Entries, &i.Newest, &i.Summary, &i.Model, &i.Tokens}
		}, listSessions)
	})
}

// Choose stores the model that was chosen for a conversation. If the name of the model is empty, Choose deletes the
// choice.
func (s *Store) Choose(ctx context.Context, c chat.Conversation, model string) error {
	return s.update(ctx, "choose model", func(t *tx) { t.queue(saveModel, t.take(c), model) })
}

// Undo deletes the entries of the newest turn that is not summarized, and returns them, oldest first. If there is no
// turn to undo, Undo returns an empty list. Running turns may have read the deleted entries, so the store no longer
// accepts their summaries. The parameter says describes the turn that answers the person's command. In the same
// transaction in which Undo deletes entries, it begins this turn, unless the turn's id is empty.
func (s *Store) Undo(ctx context.Context, c chat.Conversation, says chat.Turn) ([]chat.Entry, error) {
	undo := &call{what: "undo turn", kind: "erase", once: true}
	if says.ID != "" {
		undo.key = "undo by turn " + says.ID
	}
	undo.do = func(t *tx) {
		if says.ID != "" {
			t.begin(says)
		}
		id := t.take(c)
		undone := rows(t, entryColumns, undoTurn, id, t.session(id).SummaryUpto)
		if len(undone) > 0 {
			t.queue(outdateTurns, id)
		}
		if t.err == nil {
			undo.result = undone
		}
	}
	done, err := s.write(ctx, undo)
	if err != nil {
		return nil, err
	}
	undone, _ := done.result.([]chat.Entry) // the type assertion can't fail: if the call succeeded, its result is a list
	slices.SortFunc(undone, func(a, b chat.Entry) int { return cmp.Compare(a.ID, b.ID) })
	return undone, nil
}

// Forget deletes the history of a conversation, its summary and its permanent approvals. The model that was chosen for
// the conversation stays. A turn that was running when Forget was called can't add to the history any more, not even
// the turn of the command that called Forget. For a turn that was running when Forget was called, Decide fails with
// ErrFenced, and End stores only usage. Forget keeps the ids of messages, so that no message is answered twice.
func (s *Store) Forget(ctx context.Context, c chat.Conversation) error {
	return s.erase(ctx, "forget history", func(t *tx) {
		t.all([]string{deleteEntries, dropSummary, deleteConsents, fenceTurns, outdateTurns}, t.take(c))
	})
}

// session returns the stored session of a conversation, or an empty session if none is stored.
func (t *tx) session(conversation int64) (s chat.Session) {
	var summary []byte
	t.first([]any{&s.Model, &summary, &s.SummaryUpto, &s.Compactions, &s.At}, findSession, conversation)
	s.Summary = string(summary)
	return s
}

// entries returns those entries of a conversation whose ids are greater than the parameter behind.
func (t *tx) entries(conversation, behind int64) []chat.Entry {
	return rows(t, entryColumns, listEntries, conversation, behind)
}

func entryColumns(e *chat.Entry) []any { return []any{&e.ID, &e.Turn, &e.User, &e.At, &e.Body} }

// grow adds a turn's entries, usage and compaction to its session. If the turn adds entries, and if it replaces an
// earlier turn, grow deletes the entries of the earlier turn.
func (t *tx) grow(turn string, row store.TurnRow, g chat.Growth) {
	if row.Replaces != "" && len(g.History) > 0 {
		t.queue(deleteTurnEntries, row.Conversation, row.Replaces)
	}
	for _, body := range g.History {
		t.queue(addEntry, row.Conversation, turn, row.User, t.now, bytesOf(body))
	}
	t.saveUsage(turn, row, g.Usage)
	if g.Compaction != nil && !row.Stale {
		t.queue(saveCompaction, row.Conversation, []byte(g.Compaction.Summary), g.Compaction.Upto, t.now)
	}
}

// join merges the session of the conversation id into the session of the conversation owner. If at least one of the two
// sessions has a summary, join gives new ids to the entries that no summary covers. The new ids must be larger than the
// ids of the entries that a summary covers.
func (t *tx) join(owner, id int64) {
	into, from := t.session(owner), t.session(id)
	joined := into.Join(from)
	if joined.SummaryUpto > 0 {
		var newest int64
		t.first([]any{&newest}, newestEntry, owner, id)
		t.queue(repeatEntries, owner, into.SummaryUpto, id, from.SummaryUpto)
		t.queue(deleteRepeated, owner, into.SummaryUpto, id, from.SummaryUpto, newest)
	}
	t.queue(deleteSession, id)
	t.queue(saveSession, owner, joined.Model, []byte(joined.Summary), joined.SummaryUpto, joined.Compactions, orNull(joined.At))
}
