package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"

	"telex/internal/chat"
)

// Record stores all that is known of one message of a turn's reply: that it is about to be made or changed, its
// id once it stands, its end. Facts are taken from fenced turns too; after a turn's end only the reference and
// the state are kept, and nothing may be made any more: ErrFenced.
func (s *Store) Record(ctx context.Context, turn string, p chat.Part) error {
	return s.update(ctx, "record part", func(t *tx) error {
		row, err := t.existing(ctx, turn)
		switch {
		case err != nil:
			return err
		case !row.ended():
			return t.savePart(ctx, turn, p)
		case p.State == chat.PartIntended:
			return ErrFenced
		}
		bare := p
		bare.Source, bare.Text, bare.Plain, bare.Spans = "", "", "", nil
		return t.savePart(ctx, turn, bare)
	})
}

func (t *tx) savePart(ctx context.Context, turn string, p chat.Part) error {
	spans := ""
	if len(p.Spans) > 0 {
		b, err := json.Marshal(p.Spans)
		if err != nil {
			return err
		}
		spans = string(b)
	}
	_, err := t.exec(ctx, savePart, turn, int64(p.Index), string(p.State),
		p.Ref.Target.Chat, p.Ref.Target.Thread, int64(p.Ref.Target.Kind), p.Ref.ID,
		p.Source, p.Text, spans, number(p.Cursor), p.Key,
		p.Plain, number(p.File), int64(p.Cut), millis(p.First), int64(p.Tries), turn)
	return err
}

func (t *tx) parts(ctx context.Context, turn string) (parts []chat.Part, err error) {
	err = t.each(ctx, func(rows *sql.Rows) error {
		var p chat.Part
		var spans []byte
		var first int64
		err := rows.Scan(&p.Index, &p.State, &p.Ref.Target.Chat, &p.Ref.Target.Thread, &p.Ref.Target.Kind, &p.Ref.ID,
			&p.Source, &p.Text, &spans, &p.Cursor, &p.Key,
			&p.Plain, &p.File, &p.Cut, &first, &p.Tries, &p.Steps)
		if err != nil {
			return err
		}
		p.First = instant(first)
		if len(spans) > 0 {
			if err := json.Unmarshal(spans, &p.Spans); err != nil { // costs one edit that changes nothing
				t.log.Error("formatting of a part can't be read", slog.String("turn", turn), slog.Any("error", err))
				p.Spans = nil
			}
		}
		parts = append(parts, p)
		return nil
	}, listParts, turn)
	return parts, err
}

// number is how a truth value is stored.
func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
