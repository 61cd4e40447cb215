package receiving

import (
	"context"
	"log/slog"
	"time"
)

// pieceTries is how often in a row a piece is tried. firstPause and maxPause limit the pauses before all failed
// pieces are tried again.
const (
	pieceTries = 4
	firstPause = 5 * time.Second
	maxPause   = time.Minute
)

// Piece is a part of the missed messages, such as those of a channel.
type Piece struct {
	// Read reads the piece. After a temporary failure it is called again and continues where it stopped.
	Read func(ctx context.Context) error
	// Done delivers what was read. err says why some of the piece could not be read. Done returns further pieces to
	// read. If Done fails, ReadBacklog ends with its error.
	Done func(ctx context.Context, err error) ([]Piece, error)
}

// ReadBacklog reads missed messages piece by piece. Pieces that can't be read because of an outage are retried after
// all others, until patience has passed. It returns ctx's error if ctx ends, or the error of the first Done that
// fails.
func ReadBacklog(ctx context.Context, log *slog.Logger, patience time.Duration, pieces []Piece) error {
	until := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		again, trouble, err := round(ctx, pieces, until)
		if err != nil || len(again) == 0 {
			return err
		}
		if pause == firstPause {
			log.WarnContext(ctx, "missed messages can't be read yet; trying again", slog.Any("error", trouble))
		}
		if err := Sleep(ctx, pause); err != nil {
			return err
		}
		pieces = again
	}
}

// round reads all pieces, and the further pieces that they return. It returns the pieces that must be read again, and
// trouble, the error of the last of them. After the first such error, the remaining pieces get only one attempt each.
func round(ctx context.Context, pieces []Piece, until time.Time) (again []Piece, trouble, err error) {
	for len(pieces) > 0 {
		p := pieces[0]
		tries := pieceTries
		if trouble != nil {
			tries = 1
		}
		err := Retry(ctx, tries, time.Second, func() error { return p.Read(ctx) })
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil && IsTransient(err) && time.Now().Before(until) {
			again, trouble, pieces = append(again, p), err, pieces[1:]
			continue
		}
		more, err := p.Done(ctx, err)
		if err != nil {
			return nil, nil, err
		}
		pieces = append(more, pieces[1:]...)
	}
	return again, trouble, nil
}
