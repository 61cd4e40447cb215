package store

import (
	"context"
	"database/sql"
	"slices"

	"telex/internal/chat"
)

// Note adds to the journal of a running turn, all of it or nothing. Once it returns, whoever takes the turn up after a
// crash finds it there. A turn that is not running has none, and a fenced one keeps only its usage: ErrFenced. A journal
// goes when its turn is decided, ends or is released.
func (s *Store) Note(ctx context.Context, id string, steps ...chat.Step) error {
	return s.update(ctx, "note what turn "+id+" does", func(t *tx) error {
		row, err := t.existing(ctx, id)
		switch {
		case err != nil:
			return err
		case row.state != chat.TurnRunning, row.fenced && !onlyUsage(steps):
			return ErrFenced
		}
		for _, step := range steps {
			if _, err := t.exec(ctx, addStep, id, string(step.Kind), step.Call, string(step.Body)); err != nil {
				return err
			}
		}
		return nil
	})
}

// onlyUsage reports whether steps say what a turn used and nothing else.
func onlyUsage(steps []chat.Step) bool {
	return len(steps) > 0 && !slices.ContainsFunc(steps, func(s chat.Step) bool { return s.Kind != chat.StepSpent })
}

// steps reads a turn's journal.
func (t *tx) steps(ctx context.Context, turn string) (steps []chat.Step, err error) {
	err = t.each(ctx, func(rows *sql.Rows) error {
		var s chat.Step
		err := rows.Scan(&s.Kind, &s.Call, &s.Body)
		steps = append(steps, s)
		return err
	}, listSteps, turn)
	return steps, err
}
