package gateway

import (
	"context"
	"iter"
	"log/slog"
	"maps"
	"sync"
	"time"

	"telex/internal/chat"
)

// editsEvery is how long the record of an edit waits, so that the store can write several records together. The wait is
// short because of crashes: if a process dies before it stores an edit, the next process at first shows an older text
// than people have seen.
const editsEvery = 50 * time.Millisecond

// Deliveries stores the visible state of replies.
type Deliveries interface {
	// Record stores the states of messages of a turn's reply in one transaction.
	Record(ctx context.Context, turn string, parts ...chat.Part) error
}

// edits stores the records of preview edits, for all replies together. Each record is stored after its edit was made. While
// the store is busy, edits keeps only the newest record of each message. If a process dies, its last records may be missing.
// The next process therefore treats the text of every message as uncertain until it has edited the message (D15).
type edits struct {
	store   Deliveries
	ctx     context.Context //nolint:containedctx // the gateway's context, valid while anything may be stored
	log     *slog.Logger
	mu      sync.Mutex
	waiting map[edited]chat.Part
	storing map[edited]bool
	stored  chan struct{} // closed when the records in the field storing are stored
	next    chan struct{} // closed when the records in the field waiting are stored
	timer   *time.Timer   // calls flush; nil: no record waits or is being stored
}

// edited identifies the message of a reply to which a record belongs.
type edited struct {
	turn  string
	index int
}

func newEdits(ctx context.Context, store Deliveries, log *slog.Logger) *edits {
	return &edits{store: store, ctx: ctx, log: log, waiting: make(map[edited]chat.Part), next: make(chan struct{})}
}

// The method later lets edits store the part p soon, and does not block.
func (e *edits) later(turn string, p chat.Part) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting[edited{turn, p.Index}] = p
	if e.timer == nil {
		e.timer = time.AfterFunc(editsEvery, e.flush)
	}
}

// The method before ensures that no older record of a message is stored once the method has returned nil. The caller can then
// store a newer record. The method before fails if ctx ends while an older record is still being stored.
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

// The method drop ensures that no record of a turn's messages is stored once the method has returned nil. The method drop
// fails if ctx ends while a record is still being stored.
func (e *edits) drop(ctx context.Context, turn string) error {
	e.mu.Lock()
	var indices []int
	for _, keys := range []iter.Seq[edited]{maps.Keys(e.waiting), maps.Keys(e.storing)} {
		for key := range keys {
			if key.turn == turn {
				indices = append(indices, key.index)
			}
		}
	}
	e.mu.Unlock()
	for _, index := range indices {
		if err := e.before(ctx, turn, index); err != nil {
			return err
		}
	}
	return nil
}

// flush stores the waiting records of edits. The writes run concurrently, so that the store can sync them to disk together.
func (e *edits) flush() {
	e.mu.Lock()
	if e.storing != nil { // another flush is running; when that flush ends, it starts a timer for the waiting records
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
				e.log.Debug("record of an edit was not stored", slog.String("turn", key.turn), slog.Any("error", err))
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

// close stores the waiting records of edits. close returns when the records are stored or ctx ends, because a store that
// hangs must not keep the process from ending. After the method close, the method later must not be called.
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
