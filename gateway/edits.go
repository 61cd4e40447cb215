package gateway

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"telex/internal/chat"
)

// editsEvery is how long the record of an edit waits for others. It is short, since what a process did not store when it is
// killed is taken back from what people saw: the next one knows of no more.
const editsEvery = 50 * time.Millisecond

// Deliveries keeps what a person may see of a reply.
type Deliveries interface {
	// Record stores the state of one message of a turn's reply.
	Record(ctx context.Context, turn string, p chat.Part) error
}

// edits stores what edits of previews showed, behind them: together for all replies, and of each message only the newest
// while the store is busy. A process that dies leaves records that are a moment old; the next one takes no message for
// sure until it was edited anew (D15).
type edits struct {
	store   Deliveries
	ctx     context.Context //nolint:containedctx // the gateway's, as long as anything may be stored
	log     *slog.Logger
	mu      sync.Mutex
	waiting map[edited]chat.Part
	storing map[edited]bool
	stored  chan struct{} // closed once storing is
	next    chan struct{} // closed once what waits now is
	timer   *time.Timer   // until the next ones are stored; nil: none wait and none are being stored
}

// edited names a message of a reply.
type edited struct {
	turn  string
	index int
}

func newEdits(ctx context.Context, store Deliveries, log *slog.Logger) *edits {
	return &edits{store: store, ctx: ctx, log: log, waiting: make(map[edited]chat.Part), next: make(chan struct{})}
}

// later stores p soon. It does not block.
func (e *edits) later(turn string, p chat.Part) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting[edited{turn, p.Index}] = p
	if e.timer == nil {
		e.timer = time.AfterFunc(editsEvery, e.flush)
	}
}

// before makes sure that nothing older of a message is stored after it returns. It fails when ctx ends first.
func (e *edits) before(ctx context.Context, turn string, index int) error {
	e.mu.Lock()
	key, stored := edited{turn, index}, e.stored
	delete(e.waiting, key)
	storing := e.storing[key]
	e.mu.Unlock()
	if !storing {
		return nil
	}
	select {
	case <-stored:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// flush stores what waits. The calls run side by side, so that the store makes them durable with one sync.
func (e *edits) flush() {
	e.mu.Lock()
	if e.storing != nil { // by the timer, which stores the rest later
		e.mu.Unlock()
		return
	}
	batch := e.waiting
	e.waiting, e.storing, e.stored, e.next = make(map[edited]chat.Part), make(map[edited]bool), e.next, make(chan struct{})
	for key := range batch {
		e.storing[key] = true
	}
	e.mu.Unlock()
	var group sync.WaitGroup
	for key, p := range batch {
		group.Go(func() {
			if err := safely(func() error { return e.store.Record(e.ctx, key.turn, p) }); err != nil {
				e.log.Debug("what an edit showed was not stored", slog.String("turn", key.turn), slog.Any("error", err))
			}
		})
	}
	group.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.stored)
	if e.storing, e.timer = nil, nil; len(e.waiting) > 0 {
		e.timer = time.AfterFunc(editsEvery, e.flush)
	}
}

// close stores what waits, and returns when that is done or ctx ends: a store that hangs must not keep the process from ending.
// Nothing may come later any more.
func (e *edits) close(ctx context.Context) {
	for {
		e.mu.Lock()
		if e.timer != nil {
			e.timer.Stop()
		}
		stored, idle := e.stored, e.storing == nil
		if idle && len(e.waiting) == 0 {
			e.mu.Unlock()
			return
		}
		if idle {
			e.timer = time.AfterFunc(0, e.flush)
			stored = e.next
		}
		e.mu.Unlock()
		select {
		case <-stored:
		case <-ctx.Done():
			return
		}
	}
}
