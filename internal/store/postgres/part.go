package postgres

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"

	"telex/internal/chat"
	"telex/internal/store"
)

// Record stores the states of parts, which are the messages of a turn's reply. Record stores either the states of all
// these parts or none. The gateway calls Record before it sends or edits a message, after it has received a sent
// message's id, and after it has deleted a message. Record also accepts the parts of a turn that Forget or Erase has
// fenced. For a turn that has ended, Record stores only the message's reference and state. If the new state of a part
// of such a turn says that a message will be sent, Record fails with ErrFenced.
func (s *Store) Record(ctx context.Context, turn string, parts ...chat.Part) error {
	return s.update(ctx, "record parts", func(t *tx) {
		ended := t.existing(turn).Ended()
		for _, p := range parts {
			if ended {
				if p.State == chat.PartIntended {
					t.fail(store.ErrFenced)
				}
				p = chat.Part{Index: p.Index, State: p.State, Ref: p.Ref}
			}
			t.savePart(turn, p)
		}
	})
}

func (t *tx) savePart(turn string, p chat.Part) {
	p.First = shifted(p.First, -t.ahead)
	content, err := json.Marshal(content(p))
	if err != nil {
		t.fail(err)
	}
	to := p.Ref.Target
	t.queue(savePart, turn, p.Index, p.State, to.Chat, to.Thread, to.Kind, p.Ref.ID, []byte(p.Source), content)
}

// content returns those fields of the part p that have no column of their own, which the column content contains.
func content(p chat.Part) chat.Part {
	p.Index, p.State, p.Ref, p.Source, p.Steps = 0, "", chat.MessageRef{}, "", 0
	return p
}

// parts yields the parts of the given turns, each with the id of its turn.
func (t *tx) parts(turns []string) iter.Seq2[string, chat.Part] {
	type part struct {
		chat.Part
		turn            string
		source, content []byte
	}
	list := rows(t, func(p *part) []any {
		to := &p.Ref.Target
		return []any{&p.turn, &p.Index, &p.State, &to.Chat, &to.Thread, &to.Kind, &p.Ref.ID, &p.source, &p.content, &p.Steps}
	}, listParts, turns)
	return func(yield func(string, chat.Part) bool) {
		for _, p := range list {
			var whole chat.Part
			if err := json.Unmarshal(p.content, &whole); err != nil { // log the error and return the part's other fields
				t.log.Error("content of a part can't be read", slog.String("turn", p.turn), slog.Any("error", err))
			}
			whole.First = shifted(whole.First, t.ahead)
			whole.Index, whole.State, whole.Ref, whole.Source, whole.Steps = p.Index, p.State, p.Ref, string(p.source), p.Steps
			if !yield(p.turn, whole) {
				return
			}
		}
	}
}

// Note appends steps to the journal of a running turn. Note appends either all of the steps or none. If the process
// crashes later, the process that continues the turn reads these steps. Note fails with ErrFenced if the turn is not
// running. If Forget or Erase has fenced the turn, Note accepts only usage. The store deletes the journal when the
// turn's result is stored, or when the turn ends or is released.
func (s *Store) Note(ctx context.Context, id string, steps ...chat.Step) error {
	return s.add(ctx, "note what turn "+id+" does", func(t *tx) {
		row := t.existing(id)
		if row.State != chat.TurnRunning || row.Fenced && !chat.OnlyUsage(steps) {
			t.fail(store.ErrFenced)
		}
		for _, step := range steps {
			t.queue(addStep, id, step.Kind, step.Call, bytesOf(step.Body))
		}
	})
}

// steps yields the journal steps of the given turns, each with the id of its turn.
func (t *tx) steps(turns []string) iter.Seq2[string, chat.Step] {
	type step struct {
		chat.Step
		turn string
	}
	list := rows(t, func(s *step) []any { return []any{&s.turn, &s.Kind, &s.Call, &s.Body} }, listSteps, turns)
	return func(yield func(string, chat.Step) bool) {
		for _, s := range list {
			if !yield(s.turn, s.Step) {
				return
			}
		}
	}
}

// bytesOf returns b. If b is nil, bytesOf returns an empty slice, because the column may not be NULL.
func bytesOf(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
