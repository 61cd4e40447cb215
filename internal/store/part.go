package store

import (
	"context"
	"encoding/json"
	"log/slog"

	"telex/internal/chat"
)

// Record stores the states of parts, which are the messages of a turn's reply. Record stores either the states of all
// these parts or none. The gateway calls Record before it sends or edits a message, after it has received a sent
// message's id, and after it has deleted a message. Record also accepts the parts of a turn that Forget or Erase has
// fenced. For a turn that has ended, Record stores only the message's reference and state. If the new state of a part
// of such a turn says that a message will be sent, Record fails with ErrFenced.
func (s *Store) Record(ctx context.Context, turn string, parts ...chat.Part) error {
	return s.update(ctx, "record parts", func(t *tx) {
		ended := t.mustFindTurn(turn).Ended()
		for _, p := range parts {
			if ended {
				if p.State == chat.PartIntended {
					t.fail(ErrFenced)
				}
				p.Source, p.Text, p.Plain, p.Spans, p.Create = "", "", "", nil, nil
			}
			t.savePart(turn, p)
		}
	})
}

func (t *tx) savePart(turn string, p chat.Part) {
	spans, tried := "", ""
	if len(p.Spans) > 0 {
		spans = t.encode(p.Spans)
	}
	if p.Create != nil {
		tried = t.encode(p.Create)
	}
	t.exec(savePart, turn, int64(p.Index), string(p.State),
		p.Ref.Target.Chat, p.Ref.Target.Thread, int64(p.Ref.Target.Kind), p.Ref.ID,
		p.Source, p.Text, spans, boolToInt(p.Cursor), p.Key,
		p.Plain, boolToInt(p.File), int64(p.Cut), millis(p.First), int64(p.Tries), tried, turn)
}

// encode returns v as JSON.
func (t *tx) encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.fail(err)
	}
	return string(b)
}

func (t *tx) parts(turn string) (parts []chat.Part) {
	type part struct {
		chat.Part
		spans, tried []byte
	}
	columns := func(p *part) []any {
		to := &p.Ref.Target
		return []any{
			&p.Index, &p.State, &to.Chat, &to.Thread, &to.Kind, &p.Ref.ID, &p.Source, &p.Text, &p.spans, &p.Cursor, &p.Key,
			&p.Plain, &p.File, &p.Cut, (*storedTime)(&p.First), &p.Tries, &p.tried, &p.Steps,
		}
	}
	for p := range each(t, columns, listParts, turn) {
		if len(p.spans) > 0 {
			if err := json.Unmarshal(p.spans, &p.Spans); err != nil { // log only: this causes just an unnecessary edit
				t.log.Error("formatting of a part can't be read", slog.String("turn", turn), slog.Any("error", err))
				p.Spans = nil
			}
		}
		if len(p.tried) > 0 {
			if err := json.Unmarshal(p.tried, &p.Create); err != nil { // without Create, telex can't search the platform for the message
				t.log.Error("create call of a part can't be read", slog.String("turn", turn), slog.Any("error", err))
				p.Create = nil
			}
		}
		parts = append(parts, p.Part)
	}
	return parts
}

// boolToInt converts a boolean to a column value.
func boolToInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
