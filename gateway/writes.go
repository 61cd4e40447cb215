package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
)

const (
	// A failed write is tried again after firstWriteRetry. After each further failure of the write, the delay
	// doubles, up to maxWriteRetry.
	firstWriteRetry = 500 * time.Millisecond
	maxWriteRetry   = 5 * time.Second
	// unsavedAfter is how long a question waits for the store before the bot tells the sender that the store fails.
	unsavedAfter = 10 * time.Second
	// unsavedNotice is the timeout for telling the sender of a question that the store fails.
	unsavedNotice = 30 * time.Second
)

// writes are the changes that a conversation still has to store because the store failed. The changes say how turns ended,
// and which messages get no answer. The actor tries to store the changes again, in their order, until the store accepts them.
// While changes are not stored, no turn begins in the conversation, because the stored history lacks the latest answers.
type writes struct {
	mu    sync.Mutex
	todo  []write
	delay time.Duration
	due   time.Time
}

// write is one change that must be stored. The function do stores the change, and may be called again after a failure.
type write struct {
	what, turn string
	do         func(context.Context) error
}

// The method write stores a change. If the store fails, the method write queues the change, and the actor stores it once the
// store works again.
func (a *actor) write(what, turn string, do func(context.Context) error) {
	one := write{what, turn, do}
	if a.writes.behind(one) {
		return
	}
	err := do(a.g.deliveries)
	a.g.CheckLease(err)
	switch {
	case err == nil, errors.Is(err, chat.ErrLost): // if the lease is lost, the next owner of the chat repeats the work
	case a.worthwhile(err):
		one.log(a.log).Error("a change was not stored; trying again until it is", slog.Any("error", err))
		a.writes.add(one)
		time.AfterFunc(firstWriteRetry, a.poke)
	default:
		one.log(a.log).Error("a change was not stored", slog.Any("error", err))
	}
}

// retryWrites retries the queued writes that are due, in their order, until one of them fails. Only the actor's
// goroutine calls retryWrites.
func (a *actor) retryWrites() {
	for {
		first, due := a.writes.first(a.g.isStopping())
		if !due {
			return
		}
		err := safely(func() error { return first.do(a.g.deliveries) })
		if a.g.CheckLease(err); err != nil && a.worthwhile(err) {
			time.AfterFunc(a.writes.postpone(), a.poke)
			return
		}
		if a.writes.done(); err != nil {
			first.log(a.log).Error("a change was not stored", slog.Any("error", err))
			continue
		}
		first.log(a.log).Info("a delayed change is stored")
	}
}

// worthwhile reports whether a failed write should be tried again. After the grace period of a stopping daemon, the method
// worthwhile returns false.
func (a *actor) worthwhile(err error) bool { return retryable(err) && a.g.deliveries.Err() == nil }

// The method behind queues a write if earlier writes are queued, and reports whether it did so.
func (w *writes) behind(one write) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.todo) == 0 {
		return false
	}
	w.todo = append(w.todo, one)
	return true
}

// The method add queues a failed write.
func (w *writes) add(one write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.todo = append(w.todo, one); len(w.todo) == 1 {
		w.delay = firstWriteRetry
		w.due = time.Now().Add(w.delay)
	}
}

// The method first returns the oldest queued write if the write is due. If the parameter end is true, every queued write is
// due. If no write is queued or due, the method first returns false.
func (w *writes) first(end bool) (write, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.todo) == 0 || !end && time.Now().Before(w.due) {
		return write{}, false
	}
	return w.todo[0], true
}

// postpone doubles the delay of retries and returns the time until the next retry.
func (w *writes) postpone() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = min(maxWriteRetry, 2*w.delay)
	w.due = time.Now().Add(w.delay)
	return w.delay
}

// The method done removes the oldest write from the queue.
func (w *writes) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.todo, w.delay = w.todo[1:], firstWriteRetry
}

// The method waiting reports whether any writes are queued.
func (w *writes) waiting() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.todo) > 0
}

func (w write) log(log *slog.Logger) *slog.Logger {
	return log.With(slog.String("change", w.what), slog.String("turn", w.turn))
}

// unstored reports whether changes still have to be stored. After the grace period of a stopping daemon, the method unstored
// returns false.
func (a *actor) unstored() bool { return a.g.deliveries.Err() == nil && a.writes.waiting() }

// retryable reports whether a failed call to the store may succeed later. retryable returns false if the call
// panicked, or if the store refuses the call permanently.
func retryable(err error) bool {
	return !errors.Is(err, chat.ErrFenced) && !errors.Is(err, chat.ErrUnknown) && !errors.Is(err, errPanic)
}

// safely runs f. If f panics, the function safely returns the panic as an error.
func safely(f func() error) (err error) {
	if panicked := caught(func() { err = f() }); panicked != nil {
		return panicked
	}
	return err
}

// storeTurn stores the beginning of a turn. storeTurn returns false if the store failed and may work again, or if the
// lease is over. If storeTurn returns false, the turn must not show a reply, because the next process would answer
// the turn's messages again.
func (a *actor) storeTurn(rec chat.Turn) bool {
	err := a.g.store.turns.Begin(a.g.deliveries, rec)
	if a.g.CheckLease(err); err != nil {
		a.log.Error("turn was not stored", slog.String("turn", rec.ID), slog.Any("error", err))
	}
	return isBegun(err)
}

// isBegun reports whether a turn may continue after the attempt to store its beginning returned the error err. A turn may
// continue if its beginning is stored, or if the store will never accept it.
func isBegun(err error) bool { return err == nil || !retryable(err) && !errors.Is(err, chat.ErrLost) }

// awaitStore tries to store the beginning of a turn until it succeeds. awaitStore returns false if ctx ends before
// the turn is stored.
func (a *actor) awaitStore(ctx context.Context, rec chat.Turn) bool {
	began, told := time.Now(), false
	for delay := firstWriteRetry; ; delay = min(maxWriteRetry, 2*delay) {
		pause(ctx, delay)
		if ctx.Err() != nil {
			return false
		}
		err := safely(func() error { return a.g.store.turns.Begin(a.g.deliveries, rec) })
		if a.g.CheckLease(err); isBegun(err) {
			a.log.Info("turn begins: the store works again", slog.String("turn", rec.ID), slog.Duration("after", time.Since(began)))
			return true
		}
		if !told && time.Since(began) >= unsavedAfter {
			told = true
			a.tellUnsaved(ctx, rec)
		}
	}
}

// tellUnsaved tells the sender of a message that the message waits because the store fails. A throttle limits how often
// tellUnsaved sends this notice. tellUnsaved does not store the notice, because the store fails.
func (a *actor) tellUnsaved(ctx context.Context, rec chat.Turn) {
	if len(rec.Messages) == 0 || !a.g.refused.Allow(a.conversation.String()+" "+string(TextUnsaved)) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, unsavedNotice)
	defer cancel()
	notice := rec
	notice.ID = newID()
	slot := preview.NewSlot()
	slot.Finish(preview.Ending{Note: a.g.texts().line(TextUnsaved, rec.ID)})
	o := a.replyTo(notice, slot, a.endpoint.streaming())
	o.Recorder = nil
	if out := show(ctx, o); !out.Delivered {
		a.log.Warn("answer was not delivered", slog.String("turn", rec.ID), slog.Any("error", fmt.Errorf("tell that it waits: %w", out.Err)))
	}
}
