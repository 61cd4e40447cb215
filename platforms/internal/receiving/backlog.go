package receiving

import (
	"context"
	"log/slog"
	"time"
)

// pieceTries is how many times in a row ReadBacklog tries to read a piece of the missed messages. firstPause and
// maxPause are the shortest and the longest pause before ReadBacklog reads all failed pieces again.
const (
	pieceTries = 4
	firstPause = 5 * time.Second
	maxPause   = time.Minute
)

// Piece is a part of the missed messages, such as the missed messages of one channel.
type Piece struct {
	// Read reads the messages of the piece. After a temporary error of Read, ReadBacklog calls Read again, and Read must
	// continue where it stopped.
	Read func(ctx context.Context) error
	// Done delivers the messages that Read has read. The parameter err is the reason why Read could not read the whole
	// piece, or nil. Done returns further pieces that ReadBacklog must read. If Done fails, ReadBacklog ends and returns
	// the error of Done.
	Done func(ctx context.Context, err error) ([]Piece, error)
}

// ReadBacklog reads missed messages piece by piece. If a piece can't be read because of an outage, ReadBacklog reads
// all other pieces and then tries this piece again. When the time patience has passed, ReadBacklog stops trying to read
// the pieces that still fail. ReadBacklog returns ctx's error if ctx ends, or the error of the first call of Done that
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

// round reads all pieces, including the further pieces that Done returns. The result again contains the pieces that
// must be read again, and the result trouble is the last error with which a piece in again failed. After the first
// piece that failed with a temporary error, round makes only one attempt for each remaining piece.
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
