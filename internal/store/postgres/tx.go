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

// These are the advisory locks of the database. Their class spells "telx".
const (
	lockClass   = 0x74656c78
	lockOwner   = 1          // held by a process that knows only schema 1, while it runs
	lockWriters = 2          // held by every writing transaction; exclusively by one that must write alone
	lockSchema  = 3          // held exclusively while a process migrates the schema, and shared while one registers
	lockShares  = 0x74656c73 // a separate class, with a number for each endpoint
	lockPairing = 0x74656c70 // a separate class, also with a number for each endpoint
)

const (
	// callTimeout limits one attempt at a transaction, even if the network drops all packets.
	callTimeout = 10 * time.Second
	// patience is how long a call waits for an unreachable database. A server that restarts its processes after a
	// crash is reachable again within a second. The callers handle longer outages.
	patience = 2 * time.Second
	// maxConflicts is how often a transaction is repeated because of conflicts with others.
	maxConflicts = 10
	// firstPause and maxPause are the shortest and the longest pause between two attempts.
	firstPause = 10 * time.Millisecond
	maxPause   = 250 * time.Millisecond
)

// errLost means that a connection broke.
var errLost = errors.New("connection lost")

// tx is one transaction. All its statements use the same time. After the first error its methods do nothing and
// return zero values, and the transaction fails with that error. Times in the database are on the server's clock. The
// methods convert them from and to this process's clock.
type tx struct {
	store   *Store
	on      *pgx.Conn
	began   bool
	queued  *pgx.Batch      // statements for the next round trip, whose results are not needed
	ctx     context.Context //nolint:containedctx // of the call
	now     time.Time
	self    chat.ReplicaID // 0: this process is no replica
	ahead   time.Duration  // how far this process's clock is ahead of the server's
	signals []signal
	log     *slog.Logger
	err     error
}

// call is a writing transaction. do may run several times; only the run that is committed counts.
type call struct {
	what   string
	kind   string // for Options.Observe
	once   bool   // it must not take effect twice, so it is stored with a token
	key    string // used with once: calls with the same key are the same call; empty: callers don't repeat it
	alone  bool   // no other writing transaction runs at the same time
	prompt bool   // it uses the pool urgent, and an attempt ends with the caller's context
	do     func(*tx)
	result any    // set by the last run of do that succeeded
	token  string // used with once
	sent   bool   // its COMMIT was sent, and the response was lost
}

// update runs do in a transaction that may write.
func (s *Store) update(ctx context.Context, what string, do func(*tx)) error {
	_, err := s.write(ctx, &call{what: what, kind: "write", do: do})
	return err
}

// add is like update, for calls that must not take effect twice.
func (s *Store) add(ctx context.Context, what string, do func(*tx)) error {
	_, err := s.write(ctx, &call{what: what, kind: "write", once: true, do: do})
	return err
}

// erase is like update, for calls that delete people's data.
func (s *Store) erase(ctx context.Context, what string, do func(*tx)) error {
	_, err := s.write(ctx, &call{what: what, kind: "erase", do: do})
	return err
}

// resultOf runs a transaction with view, update or a similar function, and returns do's result, or the zero value
// after an error.
func resultOf[T any](ctx context.Context, run func(context.Context, string, func(*tx)) error, what string, do func(*tx) T) (T, error) {
	var out, none T
	err := run(ctx, what, func(t *tx) {
		if v := do(t); t.err == nil { // after an error, keep the result of an earlier run, which may have been committed
			out = v
		}
	})
	if err != nil {
		return none, err
	}
	return out, nil
}

// write runs a writing transaction. It returns the call that took effect: c, or an earlier call with the same key.
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
	if committed(err) { // a COMMIT without a response, of this call or of the earlier one, took effect
		err = nil
		if !c.sent && earlier != nil {
			c = earlier
		}
	}
	s.settle(c, err)
	return c, s.explain(ctx, c.what, err)
}

// doubt returns the call with the key whose outcome is unknown, or nil.
func (s *Store) doubt(key string) *call {
	if key == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doubts[key]
}

// settle keeps a call with an unknown outcome, for the next call with its key. It drops the call once the outcome is
// known.
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

// view runs do in a transaction that sees one consistent state of the store. After a failure do may run again.
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

// repeat calls once until it succeeds, fails permanently, or patience has passed.
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

// pause waits for d or the end of ctx, and returns ctx's error.
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

// onConnection runs do with a connection, for at most callTimeout. Once it has a connection, it ignores the end of
// ctx, unless the call is prompt. If the connection breaks, the error wraps errLost.
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
	case ctx.Err() == nil && acquiring.Err() != nil: // all connections are busy with calls that don't return
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

// lost wraps errLost around an error that has closed the connection. It keeps the server's own errors, which say
// more.
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
		if t.began { // the token was not stored, so an earlier COMMIT had no effect
			c.sent = false
		}
		if err != nil {
			_, _ = conn.Exec(ctx, "ROLLBACK") // if that fails, the pool closes the connection, which rolls back
			return err
		}
		tag, err := t.commit()
		switch {
		case err == nil && tag.String() != "COMMIT":
			return fmt.Errorf("commit: the server answered %s", tag)
		case err != nil:
			c.sent = code(err) == "" || away(err) // otherwise PostgreSQL has refused the COMMIT or a statement before it
			_, _ = conn.Exec(ctx, "ROLLBACK")
		}
		return err
	})
}

// begin returns the statements that begin a writing transaction. If the call was committed before, they fail with an
// error that committed recognizes. If the server has not ended an earlier attempt yet, they wait for its end.
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

// run runs the statements of head, which begin a transaction, and then do. It turns a panic into an error, so that
// the panic fails only this call and not the daemon.
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

// commit runs the queued statements, commits the transaction, and then sends its signals, in one round trip. The
// signals are not part of the transaction: PostgreSQL commits transactions with signals only one after the other, and
// each waits for the disk. If a signal is lost, the other replicas find the work when they next look for it.
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
