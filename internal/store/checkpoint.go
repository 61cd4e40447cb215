package store

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// checkpointEvery is the number of writing calls after which the checkpointer moves the write-ahead log into the file.
	// After 256 writing calls, the log has about 1000 pages.
	checkpointEvery = 256
	// reuseEvery applies only while the disk is full. reuseEvery is the number of writing calls after which the writer
	// itself moves the write-ahead log into the file.
	reuseEvery = 32
	// forceAfter is the number of writing calls after which the writer pauses so that a checkpoint can empty the log.
	// Without a pause of the writer, the write-ahead log would never become empty while writes follow one another.
	forceAfter = 4 * checkpointEvery
	// eraseForce is how long the checkpointer waits for a moment without writes when deleted data must be erased. When
	// this time has passed, the checkpointer makes the writer pause.
	eraseForce = 2 * time.Second
	// eraseWait is the maximum time for which a call that deletes data waits until the deleted data is unreadable.
	eraseWait = time.Second
	// eraseLate is how long an erasure may take before the delay is logged.
	eraseLate = 5 * time.Second
	// firstPause and maxPause are the shortest and the longest pause between two attempts to empty the log.
	firstPause = 2 * time.Millisecond
	maxPause   = time.Second
)

// Each of these checkpoint statements returns a row. The columns of this row are: whether another connection blocked
// the checkpoint, the number of pages in the write-ahead log, and how many of these pages were moved into the file.
// https://www.sqlite.org/pragma.html#pragma_wal_checkpoint
const (
	passiveCheckpoint  = "PRAGMA wal_checkpoint(PASSIVE)"  // neither waits for other connections nor blocks other connections
	restartCheckpoint  = "PRAGMA wal_checkpoint(RESTART)"  // blocks writers; afterwards the log is reused from its beginning
	truncateCheckpoint = "PRAGMA wal_checkpoint(TRUNCATE)" // like RESTART, and truncates the log, which erases its content
)

// checkpointer moves the write-ahead log into the file, on its own connection, while other connections read and write.
// The write-ahead log contains old versions of pages, so deleted data is unreadable only after the log has been
// emptied. The log can't be emptied while a backup or another reader uses an older state of the file, or while the
// writer is busy. If the checkpointer can't empty the log, it tries again. The checkpointer never lets the writer wait
// for a reader. If the writer stays busy for too long, the checkpointer makes the writer pause, so that the log can be
// emptied.
type checkpointer struct {
	writer    *writer
	conn      *connection // nil until the checkpointer needs the connection
	requested chan struct{}
	ctx       context.Context //nolint:containedctx // ends with close
	cancel    context.CancelFunc
	ended     chan struct{}
	limit     int64 // writing calls until a pause is forced: forceAfter, doubled each time that the pause does not help

	mu     sync.Mutex
	erased uint64        // number of the newest erasure whose deleted data is no longer in the write-ahead log
	moved  chan struct{} // closed and replaced each time that the field erased grows
}

// newCheckpointer starts the checkpointer's goroutine. close stops the goroutine and waits until it has ended.
func newCheckpointer(w *writer) *checkpointer {
	c := &checkpointer{
		writer: w, requested: make(chan struct{}, 1), ended: make(chan struct{}), moved: make(chan struct{}), limit: forceAfter,
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if n, err := fileSize(w.reader.path + "-wal"); err != nil || n > 0 { // an earlier process may have left erased data in the log
		w.erasures.Add(1)
		c.wake()
	}
	go c.loop()
	return c
}

// wake requests a checkpoint without waiting for it.
func (c *checkpointer) wake() {
	select {
	case c.requested <- struct{}{}:
	default:
	}
}

func (c *checkpointer) close() error {
	c.cancel()
	<-c.ended
	if c.conn == nil {
		return nil
	}
	return c.conn.close()
}

// waitErased waits until the erasure with the given number is complete, or until eraseWait has passed. If the erasure
// takes longer than eraseWait, the checkpointer's goroutine continues it, and logs a delay of more than eraseLate.
func (c *checkpointer) waitErased(ctx context.Context, erasure uint64) {
	timer := time.NewTimer(eraseWait)
	defer timer.Stop()
	for {
		c.mu.Lock()
		erased, moved := c.erased, c.moved
		c.mu.Unlock()
		if erased >= erasure {
			return
		}
		select {
		case <-moved:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		case <-c.ended:
			return
		}
	}
}

func (c *checkpointer) loop() {
	defer close(c.ended)
	for {
		select {
		case <-c.requested:
			c.runUntilEmpty()
		case <-c.ctx.Done():
			return
		}
	}
}

// If deleted data must be erased, runUntilEmpty tries again and again until the log is empty. If no deleted data must
// be erased, runUntilEmpty tries only once to make SQLite reuse the log from its beginning.
func (c *checkpointer) runUntilEmpty() {
	log := c.writer.reader.log
	began, pause, late, failed := time.Now(), firstPause, false, false
	for {
		erasing := c.writer.erasures.Load() > c.erasedUpTo()
		done, err := c.try(erasing, time.Since(began) > eraseForce)
		switch {
		case err != nil && c.ctx.Err() == nil && !failed: // log an error only once for all attempts
			failed = true
			log.Error("checkpoint of the store failed", slog.Any("error", err))
		case done && late:
			log.Info("deleted data was removed from the store's log", slog.Duration("delay", time.Since(began)))
		}
		if done || !erasing {
			return
		}
		if !late && time.Since(began) > eraseLate {
			late = true
			log.Warn("deleted data can still be read in the store's log: a reader, such as a backup, prevents the removal; trying again")
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-c.ctx.Done():
			timer.Stop()
			log.Warn("deleted data may still be readable in the store's log; the next start removes it")
			return
		}
		pause = min(2*pause, maxPause)
	}
}

func (c *checkpointer) erasedUpTo() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.erased
}

// try makes one attempt to empty the log. try first moves the log's pages into the file, which blocks no other
// connection. If nothing was written while the pages were moved, try then empties the log without a sync. If something
// was written while the pages were moved, try empties the log only if the log is too long, or if both erasing and force
// are true. If try empties the log in this way, the writer has to wait for the disk.
func (c *checkpointer) try(erasing, force bool) (done bool, err error) {
	if err := c.open(); err != nil {
		return false, err
	}
	w := c.writer
	commits := w.commits.Load()
	r, err := c.checkpoint(passiveCheckpoint)
	if err != nil || r.busy || r.moved < r.pages {
		return false, err
	}
	tooLong := w.sinceEmptied.Load() >= c.limit
	w.pause(func() {
		if w.commits.Load() != commits && !tooLong && (!erasing || !force) {
			return
		}
		erasures, how := w.erasures.Load(), restartCheckpoint // RESTART keeps the log's disk space, in case the disk fills up
		if erasing {
			how = truncateCheckpoint
		}
		if r, err = c.checkpoint(how); err != nil || r.busy {
			return
		}
		done = true
		w.sinceEmptied.Store(0)
		if erasing {
			c.finish(erasures)
		}
	})
	switch {
	case done:
		c.limit = forceAfter
	case tooLong:
		c.limit *= 2
	}
	return done, err
}

// finish records that the log no longer contains data that erasures up to the given number have deleted.
func (c *checkpointer) finish(erasures uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if erasures > c.erased {
		c.erased = erasures
		close(c.moved)
		c.moved = make(chan struct{})
	}
}

// open opens the checkpointer's connection, unless it is open already. If another connection holds a lock, open fails
// at once, because runUntilEmpty tries again.
func (c *checkpointer) open() error {
	if c.conn != nil {
		return nil
	}
	db, err := openCheckpointer(c.writer.reader.path)
	if err != nil {
		return err
	}
	c.conn, err = connect(c.ctx, db)
	return err
}

// checkpointResult is the row that a checkpoint statement returns.
type checkpointResult struct {
	busy         bool // another connection blocked the checkpoint
	pages, moved int64
}

func (c *checkpointer) checkpoint(how string) (r checkpointResult, err error) {
	t := &tx{on: c.conn, ctx: c.ctx}
	t.first([]any{&r.busy, &r.pages, &r.moved}, how)
	return r, t.err
}
