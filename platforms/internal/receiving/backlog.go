package receiving

import (
	"context"
	"log/slog"
	"time"
)

// How often a piece of a backlog is read in a row, and the pauses before everything is read again that failed.
const (
	pieceTries = 4
	firstPause = 5 * time.Second
	maxPause   = time.Minute
)

// Piece is a part of the missed messages, such as those of a channel.
type Piece struct {
	// Read reads the piece. After a failure that may pass it is called again, and continues where it was.
	Read func(ctx context.Context) error
	// Done hands on what was read; err says why not everything was. It returns the pieces to read next. Its own error ends
	// ReadBacklog.
	Done func(ctx context.Context, err error) ([]Piece, error)
}

// ReadBacklog reads missed messages piece by piece. Pieces that can't be read because of an outage are tried again after all
// others, until patience is over. It returns ctx's error once ctx has ended, and that of a Done.
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

// round reads pieces and what comes of them once. It returns those that must be read again, and why. Once something must, the
// others are tried only once.
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
