package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"

	code "modernc.org/sqlite/lib"
)

// maxBatch is the maximum number of calls in one transaction. The calls of a transaction share one sync, so that many
// simultaneous callers don't have to wait for many syncs. If maxBatch were larger, the first call of a batch would have
// to wait too long for the other calls.
const maxBatch = 64

var (
	errClosed = errors.New("the store is closed")
	// errAbort ends a transaction of several calls because one of the calls has made it fail. After errAbort, each of
	// these calls runs again, in a transaction of its own.
	errAbort = errors.New("transaction of several calls failed")
)

// These statements begin and end transactions. IMMEDIATE makes SQLite take the write lock at once. Without IMMEDIATE, a
// transaction takes the write lock only at its first write, which can fail.
const (
	begin       = "BEGIN IMMEDIATE"
	commit      = "COMMIT"
	rollback    = "ROLLBACK"
	mark        = "SAVEPOINT one"
	releaseMark = "RELEASE one"
	undoMark    = "ROLLBACK TO one"
)

// call is a transaction that a caller waits for.
type call struct {
	do      func(*tx)
	accepts bool            // the call stores a new message; if the disk is full, such calls are refused first
	erases  bool            // the call deletes data, which must become unreadable in the store's files
	erasure uint64          // the number of the call's erasure; set before the writer sends to the channel done
	ctx     context.Context //nolint:containedctx // the caller's context; if it has ended, the writer drops the call
	done    chan error      // receives the result; has capacity 1, so that the writer never waits for the caller
}

// submit passes a call to a goroutine that receives from the channel calls, and returns the call's result. Once the
// goroutine has received the call, submit ignores the end of ctx, because the call then soon ends.
func submit(ctx context.Context, calls chan<- *call, ended <-chan struct{}, c *call) error {
	c.ctx, c.done = ctx, make(chan error, 1)
	select {
	case calls <- c:
		return <-c.done
	case <-ctx.Done():
		return ctx.Err()
	case <-ended:
		return errClosed
	}
}

// writer is the goroutine that runs all writing transactions, on the only connection that may write. Only a few
// goroutines use SQLite, because SQLite enlarges the stack of each goroutine that calls it. Calls that arrive while a
// sync is running share the next sync. Usually the checkpointer moves the write-ahead log into the database file; the
// writer does so only while the disk is full.
type writer struct {
	*connection
	reader  *Reader
	reserve *reserve
	log     *checkpointer

	commits      atomic.Int64  // number of transactions that have begun so far
	erasures     atomic.Uint64 // number of erasures so far
	sinceEmptied atomic.Int64  // number of calls since the write-ahead log was last emptied

	calls  chan *call // unbuffered, so that a caller can give up until the writer has received the call
	pauses chan func()
	quit   chan struct{}
	ended  chan struct{}
}

// newWriter starts the writer's goroutine. If newWriter fails, it closes the pool db.
func newWriter(ctx context.Context, r *Reader, db *sql.DB, reserve *reserve) (*writer, error) {
	c, err := connect(ctx, db)
	if err != nil {
		return nil, err
	}
	w := &writer{
		connection: c, reader: r, reserve: reserve,
		calls: make(chan *call), pauses: make(chan func()), quit: make(chan struct{}), ended: make(chan struct{}),
	}
	_ = reserve.keep() // ignore the error: if the disk has no space for the reserve, later calls of Accept fail
	w.log = newCheckpointer(w)
	go w.loop() //nolint:contextcheck // this goroutine must outlive the context of Open
	return w, nil
}

// close first stops the checkpointer. close then waits for the writer's running calls and stops the writer. The
// writer's connection is the last that closes, and SQLite then moves the write-ahead log into the file.
func (w *writer) close() error {
	err := w.log.close()
	close(w.quit)
	<-w.ended
	return errors.Join(err, w.connection.close())
}

// run passes a call to the writer. run returns when the call's transaction is on disk or has failed permanently.
func (w *writer) run(ctx context.Context, c *call) error { return submit(ctx, w.calls, w.ended, c) }

// pause runs the function do while no transaction is open. pause returns false if the writer has ended.
func (w *writer) pause(do func()) bool {
	done := make(chan struct{})
	select {
	case w.pauses <- func() { defer close(done); do() }:
		<-done
		return true
	case <-w.ended:
		return false
	}
}

func (w *writer) loop() {
	defer close(w.ended)
	batch := make([]*call, 0, maxBatch)
	for {
		select {
		case c := <-w.calls:
			batch = w.collect(append(batch[:0], c))
			w.commitBatch(batch)
			clear(batch)
		case do := <-w.pauses:
			do()
		case <-w.quit:
			return
		}
	}
}

// collect adds the calls that are waiting to the batch, without blocking.
func (w *writer) collect(batch []*call) []*call {
	for len(batch) < maxBatch {
		select {
		case c := <-w.calls:
			batch = append(batch, c)
		default:
			return batch
		}
	}
	return batch
}

// commitBatch runs the calls of a batch in one transaction. If the transaction fails, commitBatch runs each call in a
// transaction of its own, so that one bad call does not make the others fail. Before the transaction begins,
// commitBatch checks which calls the writer must refuse. This check can take a while, because for a new message it may
// have to create the reserve file.
func (w *writer) commitBatch(batch []*call) {
	batch = slices.DeleteFunc(batch, func(c *call) bool {
		err := w.refusal(c)
		if err != nil {
			c.done <- err
		}
		return err != nil
	})
	if len(batch) > 1 {
		if errs, ok := w.commitTogether(batch); ok {
			w.afterCommit(batch...)
			for i, c := range batch {
				c.done <- errs[i]
			}
			return
		}
	}
	for _, c := range batch {
		err := w.commitAlone(c)
		if err == nil {
			w.afterCommit(c)
		}
		c.done <- err
	}
}

// afterCommit numbers the erasures among the calls of a committed batch. afterCommit wakes the checkpointer if there
// was an erasure, or if the write-ahead log has grown.
func (w *writer) afterCommit(batch ...*call) {
	before := w.sinceEmptied.Load()
	after := w.sinceEmptied.Add(int64(len(batch)))
	wake := before/checkpointEvery != after/checkpointEvery
	if slices.ContainsFunc(batch, func(c *call) bool { return c.erases }) {
		wake = true
		n := w.erasures.Add(1)
		for _, c := range batch {
			c.erasure = n
		}
	}
	if wake {
		w.log.wake()
	}
	if !w.reserve.exists && before/reuseEvery != after/reuseEvery {
		// The disk is full, and the reserve file has already been deleted. So reuse the space of the write-ahead log now,
		// without waiting for the checkpointer. If the space can't be reused, the next call that finds no space reports the
		// error.
		_ = w.control(restartCheckpoint)
	}
}

func (w *writer) commitTogether(batch []*call) (errs []error, ok bool) {
	errs = make([]error, len(batch))
	err := w.transact(func() error {
		for i, c := range batch {
			if err := w.control(mark); err != nil {
				return err
			}
			errs[i] = w.reader.do(c.ctx, w, c.do)
			switch {
			case sqliteCode(errs[i]) != 0: // after its own errors, SQLite may have rolled back the whole transaction
				return errAbort
			case errs[i] != nil:
				if err := w.control(undoMark); err != nil {
					return err
				}
			}
			if err := w.control(releaseMark); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, false
	}
	for i, c := range batch {
		if c.accepts {
			w.reserve.record(errs[i] == nil, false)
		}
	}
	return errs, true
}

// commitAlone runs one call in its own transaction. If the disk is full, commitAlone may delete the reserve file to
// free space, but only if the call finishes work that was accepted earlier.
func (w *writer) commitAlone(c *call) error {
	if err := w.refusal(c); err != nil {
		return err
	}
	do := func() error { return w.reader.do(c.ctx, w, c.do) }
	err := w.withLogReuse(do)
	switch {
	case c.accepts:
		w.reserve.record(err == nil, w.reader.full(err))
	case w.reader.full(err) && w.reserve.release(err):
		err = w.withLogReuse(do)
	}
	return err
}

// withLogReuse runs a transaction. If the disk is full, withLogReuse makes SQLite reuse the write-ahead log from its
// beginning, and runs the transaction again. For this reuse, withLogReuse may have to wait until a running checkpoint
// has ended.
func (w *writer) withLogReuse(do func() error) error {
	err := w.transact(do)
	if w.reader.full(err) && w.control(restartCheckpoint) == nil {
		err = w.transact(do)
	}
	return err
}

// refusal returns the reason why a call must not begin, or nil. A call must not begin if its caller has given up. A
// call that stores a new message must not begin either if the disk has no space to answer this message.
func (w *writer) refusal(c *call) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if c.accepts {
		return w.reserve.keep()
	}
	return nil
}

// transact runs the function do in a transaction. If the function do fails, transact rolls the transaction back.
func (w *writer) transact(do func() error) error {
	w.commits.Add(1)
	err := w.control(begin)
	if sqliteCode(err) == code.SQLITE_ERROR { // the previous transaction is still open, because an attempt to roll it back failed
		w.undo()
		err = w.control(begin)
	}
	if err != nil {
		return err
	}
	err = do()
	if err == nil {
		err = w.control(commit)
	}
	if err != nil {
		w.undo()
	}
	return err
}

// undo rolls the transaction back. After some errors, SQLite itself has already rolled the transaction back, and now
// reports that no transaction is open.
func (w *writer) undo() {
	if err := w.control(rollback); err != nil && sqliteCode(err) != code.SQLITE_ERROR {
		w.reader.log.Warn("transaction was not rolled back, the next one tries again", slog.Any("error", err))
	}
}
