package store

import (
	"context"

	"telex/internal/chat"
)

// Note appends steps to the journal of a running turn. Note appends either all of the steps or none. If the process
// crashes later, the process that continues the turn reads these steps. Note fails with ErrFenced if the turn is not
// running. If Forget or Erase has fenced the turn, Note accepts only usage. The store deletes the journal when the
// turn's result is stored, or when the turn ends or is released.
func (s *Store) Note(ctx context.Context, id string, steps ...chat.Step) error {
	return s.update(ctx, "note what turn "+id+" does", func(t *tx) {
		row := t.mustFindTurn(id)
		if row.State != chat.TurnRunning || row.Fenced && !chat.OnlyUsage(steps) {
			t.fail(ErrFenced)
		}
		for _, step := range steps {
			t.exec(addStep, id, string(step.Kind), step.Call, string(step.Body))
		}
	})
}

// steps returns the journal of a turn.
func (t *tx) steps(turn string) []chat.Step {
	return rows(t, func(s *chat.Step) []any { return []any{&s.Kind, &s.Call, &s.Body} }, listSteps, turn)
}
