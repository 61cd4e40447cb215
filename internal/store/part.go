package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"time"

	"telex/internal/chat"
)

// PartState says what is known about a part's message.
type PartState string

// The states of a part.
const (
	Intended PartState = "intended" // about to be created; found after a crash, it may stand or not
	Absent   PartState = "absent"   // its create was refused: it surely does not stand
	Streams  PartState = "streams"  // a stream that was not stopped
	Frozen   PartState = "frozen"   // was replaced and waits to be deleted
	Stands   PartState = "stands"   // created; Text is the last payload tried
	Sealed   PartState = "sealed"   // full: the reply goes on in the next part
	Gone     PartState = "gone"     // deleted by a person or by us
	Doubtful PartState = "doubtful" // created with unknown outcome
)

// Part is one message of a reply.
type Part struct {
	Index  int // from 0
	State  PartState
	Ref    chat.MessageRef // the zero value until the platform told
	Source string          // the Markdown that Text was rendered from
	Text   string          // what was sent last, or was about to be
	Spans  []chat.Span
	Cursor bool      // Text ends with the cursor
	Key    string    // the idempotency key of the create
	Plain  string    // Text without any markup; empty when that is Text
	File   bool      // the message is a file, with Text as its caption
	Cut    int       // the longest part when this one was laid out
	First  time.Time // when its create was first tried
}

// Intend stores that a part is about to be created, before the call is made. It fails with ErrFenced when the
// turn has ended.
func (s *Store) Intend(ctx context.Context, turn string, p Part) error {
	return s.update(ctx, "record intent", func(t *tx) error {
		row, err := t.existing(ctx, turn)
		if err != nil {
			return err
		}
		if row.ended() {
			return ErrFenced
		}
		p.State = Intended
		return t.savePart(ctx, turn, p)
	})
}

// Record stores all that is known about a part: its id once it stands, the payload of an edit, its end. Facts are
// taken from fenced turns too; after a turn's end only the reference and the state are kept.
func (s *Store) Record(ctx context.Context, turn string, p Part) error {
	return s.update(ctx, "record part", func(t *tx) error {
		row, err := t.existing(ctx, turn)
		if err != nil {
			return err
		}
		if row.ended() {
			p.Source, p.Text, p.Plain, p.Spans = "", "", "", nil
		}
		return t.savePart(ctx, turn, p)
	})
}

// Parts returns the parts of a turn in order.
func (r *Reader) Parts(ctx context.Context, turn string) (parts []Part, err error) {
	err = r.view(ctx, "read parts", func(t *tx) (err error) {
		parts, err = t.parts(ctx, turn)
		return err
	})
	return parts, err
}

func (t *tx) savePart(ctx context.Context, turn string, p Part) error {
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
		p.Plain, number(p.File), int64(p.Cut), millis(p.First))
	return err
}

func (t *tx) parts(ctx context.Context, turn string) (parts []Part, err error) {
	err = t.each(ctx, func(rows *sql.Rows) error {
		var p Part
		var spans []byte
		var first int64
		err := rows.Scan(&p.Index, &p.State, &p.Ref.Target.Chat, &p.Ref.Target.Thread, &p.Ref.Target.Kind, &p.Ref.ID,
			&p.Source, &p.Text, &spans, &p.Cursor, &p.Key,
			&p.Plain, &p.File, &p.Cut, &first)
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
