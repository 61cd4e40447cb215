package store

import (
	"context"

	"telex/internal/chat"
)

// Note adds to the journal of a running turn, all of it or nothing. Once it returns, whoever takes the turn up after a
// crash finds it there. A turn that is not running has none, and a fenced one keeps only its usage: ErrFenced. A journal
// goes when its turn is decided, ends or is released.
func (s *Store) Note(ctx context.Context, id string, steps ...chat.Step) error {
	return s.update(ctx, "note what turn "+id+" does", func(t *tx) {
		row := t.existing(id)
		if row.state != chat.TurnRunning || row.fenced && !chat.OnlySpent(steps) {
			t.fail(ErrFenced)
		}
		for _, step := range steps {
			t.exec(addStep, id, string(step.Kind), step.Call, string(step.Body))
		}
	})
}

// steps reads a turn's journal.
func (t *tx) steps(turn string) []chat.Step {
	return rows(t, func(s *chat.Step) []any { return []any{&s.Kind, &s.Call, &s.Body} }, listSteps, turn)
}
