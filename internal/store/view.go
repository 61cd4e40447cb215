package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// maxViews is the maximum number of simultaneous reads of an open store.
const maxViews = 2

// beginRead begins a transaction that sees one consistent state of the store: the state at the time of its first read.
const beginRead = "BEGIN"

// views contains the goroutines that read, each on its own read-only connection. The reading goroutines don't wait for
// the writer or for syncs of the disk, and the writer does not wait for them.
type views struct {
	reader  *Reader
	calls   chan *call
	quit    chan struct{}
	running sync.WaitGroup
	conns   []*connection
	closing sync.Once
}

func newViews(ctx context.Context, r *Reader) (*views, error) {
	v := &views{reader: r, calls: make(chan *call), quit: make(chan struct{})}
	for range maxViews {
		db, err := openReaders(r.path, 1, false)
		if err != nil {
			return nil, errors.Join(err, v.close())
		}
		c, err := connect(ctx, db)
		if err != nil {
			return nil, errors.Join(err, v.close())
		}
		v.conns = append(v.conns, c)
		v.running.Go(func() { v.loop(c) }) //nolint:contextcheck // this goroutine must outlive the context of Open
	}
	return v, nil
}

// close waits for the reads that are running and then ends the goroutines.
func (v *views) close() error {
	v.closing.Do(func() { close(v.quit) })
	v.running.Wait()
	var errs []error
	for _, c := range v.conns {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

func (v *views) run(ctx context.Context, do func(*tx)) error {
	return submit(ctx, v.calls, v.quit, &call{do: do})
}

func (v *views) loop(on *connection) {
	for {
		select {
		case c := <-v.calls:
			if err := c.ctx.Err(); err != nil {
				c.done <- err
				continue
			}
			c.done <- v.transact(on, c)
		case <-v.quit:
			return
		}
	}
}

// transact runs a call in a read transaction. transact always ends the transaction, because an open transaction would
// prevent the log from being emptied.
func (v *views) transact(on *connection, c *call) error {
	if err := on.control(beginRead); err != nil {
		return err
	}
	err := v.reader.do(c.ctx, on, c.do)
	if end := on.control(rollback); end != nil && err == nil {
		err = fmt.Errorf("end read: %w", end)
	}
	return err
}
