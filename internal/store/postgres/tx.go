package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	jitter "math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"telex/internal/chat"
)

// These are the classes and numbers of the advisory locks. The bytes of lockClass spell "telx".
const (
	lockClass   = 0x74656c78
	lockOwner   = 1          // a process that knows only schema 1 holds this lock as long as it runs
	lockWriters = 2          // each writing transaction holds this lock shared; one that must write alone holds it exclusively
	lockSchema  = 3          // a process that migrates the schema holds this lock exclusively; one that registers holds it shared
	lockShares  = 0x74656c73 // a separate class of locks, with a number for each endpoint
	lockPairing = 0x74656c70 // a separate class of locks, also with a number for each endpoint
)

const (
	// callTimeout is the longest time that one attempt to run a transaction may take, even if the network drops all
	// packets.
	callTimeout = 10 * time.Second
	// patience is how long a call waits for an unreachable database. If a crash makes the server restart its processes, it
	// is reachable again within a second. During longer outages, the callers repeat their calls.
	patience = 2 * time.Second
	// maxConflicts is how often a transaction is repeated because it conflicts with other transactions.
	maxConflicts = 10
	// firstPause and maxPause are the shortest and the longest pause between two attempts to run a transaction.
	firstPause = 10 * time.Millisecond
	maxPause   = 250 * time.Millisecond
)

// errLost means that the connection to the database was lost.
var errLost = errors.New("connection lost")

// tx is one transaction. All statements of a tx see the same current time. After the first error, the methods of tx do
// nothing and return zero values, and the transaction fails with this error. The time columns of the database contain
// times of the server's clock. The methods of tx convert times between the server's clock and this process's clock.
type tx struct {
	store   *Store
	on      *pgx.Conn
	began   bool
	queued  *pgx.Batch      // statements for the next round trip, whose results are not needed
	ctx     context.Context //nolint:containedctx // the context of the call
	now     time.Time
	self    chat.ReplicaID // replica id of this process; 0: this process is not a replica
	ahead   time.Duration  // time by which this process's clock is ahead of the server's clock
	signals []signal
	log     *slog.Logger
	err     error
}

// call is a writing transaction. The function do may run several times, but only the run that is committed takes
// effect.
type call struct {
	what   string
	kind   string // the kind of transaction that is passed to Options.Observe
	once   bool   // the call must not take effect twice, so its transaction stores the token
	key    string // only if once is set: calls with the same key are repetitions of one call; empty: callers don't repeat the call
	alone  bool   // no other writing transaction may run at the same time
	prompt bool   // the call uses the pool urgent, and is canceled when the caller's context ends
	do     func(*tx)
	result any    // set by the last run of the function do that succeeded
	token  string // only if the field once is set; random
	sent   bool   // COMMIT was sent, but the response to it was lost
}

// update runs the function do in a transaction that may write.
func (s *Store) update(ctx context.Context, what string, do func(*tx)) error {
	_, err := s.write(ctx, &call{what: what, kind: "write", do: do})
	return err
}

// add is like update, but for calls that must not take effect twice.
func (s *Store) add(ctx context.Context, what string, do func(*tx)) error {
	_, err := s.write(ctx, &call{what: what, kind: "write", once: true, do: do})
	return err
}

// erase is like update, but for calls that delete people's data.
func (s *Store) erase(ctx context.Context, what string, do func(*tx)) error {
	_, err := s.write(ctx, &call{what: what, kind: "erase", do: do})
	return err
}

// resultOf calls the function run with the function do, and returns the result of do. The function run is view, update
// or a similar method. After an error, resultOf returns the zero value.
func resultOf[T any](ctx context.Context, run func(context.Context, string, func(*tx)) error, what string, do func(*tx) T) (T, error) {
	var out, none T
	err := run(ctx, what, func(t *tx) {
		if v := do(t); t.err == nil { // if this run failed, keep the result of an earlier run of do, which may have been committed
			out = v
		}
	})
	if err != nil {
		return none, err
	}
	return out, nil
}

// write runs a writing transaction. write returns the call that took effect: either c itself, or an earlier call with
// the same key.
func (s *Store) write(ctx context.Context, c *call) (*call, error) {
	began := time.Now()
	defer func() { s.told(c.kind, time.Since(began)) }()
	if c.once {
		c.token = rand.Text()
	}
	earlier := s.doubt(c.key)
	if earlier != nil {
		c.token = earlier.token
	}
	err := s.repeat(ctx, func() error { return s.attempt(ctx, c) })
	if committed(err) { // an earlier COMMIT took effect although its response was lost
		err = nil
		if !c.sent && earlier != nil {
			c = earlier
		}
	}
	s.settle(c, err)
	return c, s.explain(ctx, c.what, err)
}

// doubt returns the call with the given key if the outcome of this call is unknown, and nil otherwise.
func (s *Store) doubt(key string) *call {
	if key == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doubts[key]
}

// settle remembers a call whose outcome is unknown, so that the next call with the same key uses the same token. Once a
// call with the same key has succeeded, settle forgets the earlier call.
func (s *Store) settle(c *call, err error) {
	if c.key == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		delete(s.doubts, c.key)
	case c.sent:
		s.doubts[c.key] = c
	}
}

// view runs the function do in a transaction that sees one consistent state of the store. If the transaction fails,
// view may run the function do again.
func (s *Store) view(ctx context.Context, what string, do func(*tx)) error {
	began := time.Now()
	defer func() { s.told("read", time.Since(began)) }()
	err := s.repeat(ctx, func() error {
		return s.onConnection(ctx, false, func(ctx context.Context, conn *pgx.Conn) error {
			head := &pgx.Batch{}
			head.Queue(beginRead)
			_, err := s.run(ctx, conn, head, do)
			if _, end := conn.Exec(ctx, "ROLLBACK"); err == nil {
				err = end
			}
			return err
		})
	})
	return s.explain(ctx, what, err)
}

// repeat calls the function in the parameter once until it succeeds or fails with a permanent error, but no longer than
// patience.
func (s *Store) repeat(ctx context.Context, once func() error) error {
	deadline := time.Now().Add(patience)
	wait, conflicts := firstPause, 0
	for {
		err := once()
		switch {
		case err == nil:
			return nil
		case conflict(err):
			if conflicts++; conflicts > maxConflicts {
				return err
			}
		case !away(err), time.Now().After(deadline):
			return err
		}
		if pause(ctx, wait/2+jitter.N(wait)) != nil {
			return err
		}
		wait = min(2*wait, maxPause)
	}
}

// pause waits until the duration d has passed. If ctx ends earlier, pause returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// onConnection runs the function do with a connection of a pool, for at most callTimeout. If prompt is false,
// onConnection ignores the end of ctx once it has a connection. If the connection breaks, the error wraps errLost.
func (s *Store) onConnection(ctx context.Context, prompt bool, do func(context.Context, *pgx.Conn) error) error {
	acquiring, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pool := s.pool
	if prompt {
		pool = s.urgent
	}
	conn, err := pool.Acquire(acquiring)
	switch {
	case err == nil:
	case s.isClosed():
		return errClosed
	case ctx.Err() == nil && acquiring.Err() != nil: // all connections are in use by calls that take too long
		return fmt.Errorf("%w: %w", errLost, err)
	default:
		return err
	}
	defer conn.Release()
	if !prompt {
		ctx = context.WithoutCancel(ctx)
	}
	running, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return lost(conn, do(running, conn.Conn()))
}

// lost wraps the error err in errLost if the connection has been closed. If the server itself reported why it closed
// the connection, lost returns err unchanged, because err is more precise.
func lost(conn *pgxpool.Conn, err error) error {
	if err == nil || !conn.Conn().IsClosed() || away(err) {
		return err
	}
	return fmt.Errorf("%w: %w", errLost, err)
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// attempt runs a writing transaction once.
func (s *Store) attempt(ctx context.Context, c *call) error {
	return s.onConnection(ctx, c.prompt, func(ctx context.Context, conn *pgx.Conn) error {
		t, err := s.run(ctx, conn, c.begin(), c.do)
		if t.began { // the database accepted the token, so no earlier COMMIT of this call took effect
			c.sent = false
		}
		if err != nil {
			_, _ = conn.Exec(ctx, "ROLLBACK") // if ROLLBACK fails, the pool closes the connection, which also rolls back
			return err
		}
		tag, err := t.commit()
		switch {
		case err == nil && tag.String() != "COMMIT":
			return fmt.Errorf("commit: the server answered %s", tag)
		case err != nil:
			c.sent = code(err) == "" || away(err) // any other error code means that PostgreSQL refused the transaction
			_, _ = conn.Exec(ctx, "ROLLBACK")
		}
		return err
	})
}

// begin returns the statements that begin a writing transaction. If an earlier attempt of the call was committed, these
// statements fail with an error for which the function committed returns true. If the server is still running an
// earlier attempt, these statements wait until that attempt ends.
func (c *call) begin() *pgx.Batch {
	lock := lockShared
	if c.alone {
		lock = lockAlone
	}
	b := &pgx.Batch{}
	b.Queue("BEGIN")
	b.Queue(lock, lockClass, lockWriters)
	if c.token != "" {
		b.Queue(saveToken, c.token)
	}
	return b
}

// run runs the statements in head, which begin a transaction, and then calls the function do. If the function do
// panics, run returns an error, so that the panic makes only this call fail and not the whole daemon.
func (s *Store) run(ctx context.Context, conn *pgx.Conn, head *pgx.Batch, do func(*tx)) (t *tx, err error) {
	t = &tx{
		store: s, on: conn, ctx: ctx, queued: head, now: s.now().UTC().Truncate(time.Millisecond), log: s.log,
		self: chat.ReplicaID(s.self.Load()), ahead: time.Duration(s.ahead.Load()),
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	do(t)
	return t, t.err
}

// commit runs the queued statements, commits the transaction, and then sends the transaction's signals, in one round
// trip. The signals are sent outside of the transaction, because PostgreSQL commits transactions that send signals only
// one after the other, and each commit waits for the disk. If a signal is lost, the other replicas find the work the
// next time they look for work.
func (t *tx) commit() (tag pgconn.CommandTag, err error) {
	b := t.queued
	b.Queue("COMMIT")
	before := b.Len()
	for _, s := range t.signals {
		b.Queue(notify, s.channel(), s.payload(t.self))
	}
	answers := t.on.SendBatch(t.ctx, b)
	for range before {
		if tag, err = answers.Exec(); err != nil {
			break
		}
	}
	if end := answers.Close(); end != nil && err == nil {
		t.log.Debug("signals were not sent", slog.Any("error", end))
	}
	return tag, err
}
