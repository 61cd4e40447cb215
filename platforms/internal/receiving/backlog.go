package receiving

import (
	"context"
	"log/slog"
	"time"
)

// The attempts to read a piece in a row, and the pauses before all failed pieces are read again.
const (
	pieceTries = 4
	firstPause = 5 * time.Second
	maxPause   = time.Minute
)

// Piece is a part of the missed messages, such as those of a channel.
type Piece struct {
	// Read reads the piece. After a temporary failure it is called again and continues where it stopped.
	Read func(ctx context.Context) error
	// Done delivers what was read. err says why not everything was read. It returns further pieces to read. If it
	// fails, ReadBacklog ends with that error.
	Done func(ctx context.Context, err error) ([]Piece, error)
}

// ReadBacklog reads missed messages piece by piece. Pieces that can't be read because of an outage are retried after
// all others, until patience has passed. It returns ctx's error if ctx ends, and the error of a Done.
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

// round reads pieces and their further pieces once. It returns the pieces that must be read again, and the reason.
// After the first such failure, the other pieces are tried only once.
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
