package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"telex/internal/store"
)

// The advisory locks, which belong to the database. The class is "telx".
const (
	lockClass   = 0x74656c78
	lockOwner   = 1          // held by the connection of the owner
	lockWriters = 2          // held by every writing transaction: exclusively by one that must be alone
	lockShares  = 0x74656c73 // a class of its own, with a number for each endpoint
)

// ownerName is the row of the one daemon.
const ownerName = "daemon"

const (
	// checkEvery is how often the owner's connection is used, and checkWithin how long the answer may take: together less
	// than keepAlive.
	checkEvery  = 2 * time.Second
	checkWithin = 3 * time.Second
	// keepAlive makes the server end the owner's connection, and with it the lock, some 15 seconds after the network has
	// gone: later than the owner notices it, and much earlier than by default.
	keepAlive = "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3; SET tcp_user_timeout = 15000"
	// ownAgain is the pause between attempts to become the owner.
	ownAgain = 250 * time.Millisecond
)

// errNotHeld: the connection that holds the ownership is lost, and is being made anew.
var errNotHeld = errors.New("the connection that reserves the database is lost")

// owner holds the ownership of the store for this process. If its connection is lost, it takes the ownership again; if another
// process has had it meanwhile, the ownership is gone for good.
type owner struct {
	store  *Store
	config *pgx.ConnConfig
	id     string // tells this process from others
	lost   func(error)

	stop  context.CancelFunc
	ended sync.WaitGroup

	mu    sync.Mutex
	epoch int64
	err   error // why nothing may be written now: errNotHeld, or for good errEpoch
}

// own makes this process the owner, and starts the goroutine that keeps it so.
func (s *Store) own(ctx context.Context, o Options) (*owner, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	w := &owner{
		store: s, config: s.pool.Config().ConnConfig, lost: o.Lost,
		id: fmt.Sprintf("telex %s pid %d on %.20s", rand.Text()[:8], os.Getpid(), host),
	}
	w.config.RuntimeParams["application_name"] = w.id
	conn, err := w.first(ctx, time.Now().Add(o.Wait))
	if err != nil {
		return nil, err
	}
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.stop = cancel
	w.ended.Go(func() { w.watch(watching, conn) })
	return w, nil
}

// first takes the ownership for the first time, and brings the schema up to date.
func (w *owner) first(ctx context.Context, deadline time.Time) (*pgx.Conn, error) {
	for {
		conn, err := w.lock(ctx)
		if err == nil {
			if err = w.store.migrate(ctx); err == nil {
				err = w.raise(ctx, conn)
			}
			if err == nil {
				return conn, nil
			}
			hangUp(ctx, conn)
		}
		if !errors.Is(err, store.ErrLocked) || time.Now().After(deadline) || pause(ctx, ownAgain) != nil {
			return nil, err
		}
	}
}

// take takes the ownership again. It fails with store.ErrLocked if another process is the owner, and with errEpoch if one was since
// this process last was.
func (w *owner) take(ctx context.Context) (*pgx.Conn, error) {
	conn, err := w.lock(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.raise(ctx, conn); err != nil {
		hangUp(ctx, conn)
		return nil, err
	}
	return conn, nil
}

// lock returns a connection that holds the lock of the owner.
func (w *owner) lock(ctx context.Context) (conn *pgx.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if conn, err = pgx.ConnectConfig(ctx, w.config.Copy()); err != nil {
		return nil, err
	}
	var locked bool
	if _, err = conn.Exec(ctx, keepAlive); err == nil {
		err = conn.QueryRow(ctx, tryOwn, lockClass, lockOwner).Scan(&locked)
	}
	if err == nil && !locked {
		err = w.held(ctx, conn)
	}
	if err != nil {
		hangUp(ctx, conn)
		return nil, err
	}
	return conn, nil
}

// raise raises the epoch. It waits under the exclusive lock until no transaction of the process before is under way; those that
// follow see the new epoch.
func (w *owner) raise(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	var epoch int64
	err := pgx.BeginFunc(ctx, conn, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, lockAlone, lockClass, lockWriters); err != nil {
			return err
		}
		return t.QueryRow(ctx, takeEpoch, ownerName, w.id).Scan(&epoch)
	})
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.epoch != 0 && epoch != w.epoch+1 {
		return errEpoch
	}
	w.epoch, w.err = epoch, nil
	return nil
}

// held returns the error for an ownership that another connection has. One of this process, which the server believes to be
// alive, is ended.
func (w *owner) held(ctx context.Context, conn *pgx.Conn) error {
	var pid int
	var name, address string
	var since time.Time
	switch err := conn.QueryRow(ctx, findHolder, lockClass, lockOwner).Scan(&pid, &name, &address, &since); {
	case errors.Is(err, pgx.ErrNoRows): // it has just ended
		return fmt.Errorf("%s is %w", w.store.name, store.ErrLocked)
	case err != nil:
		return err
	case name == w.id:
		_, err := conn.Exec(ctx, endSession, pid)
		return errors.Join(errNotHeld, err)
	}
	return fmt.Errorf("%s is %w (%s, from %s, since %s); one telex at a time can use it: stop that one, or give this one a database of its own",
		w.store.name, store.ErrLocked, name, address, since.UTC().Format(time.RFC3339))
}

// watch notices when the connection is lost, and takes the ownership again, until ctx ends. Then it gives it up.
func (w *owner) watch(ctx context.Context, conn *pgx.Conn) {
	log := w.store.log
	for {
		err := listen(ctx, conn, func(*pgconn.Notification) {})
		hangUp(ctx, conn)
		if ctx.Err() != nil {
			return
		}
		w.set(errNotHeld)
		log.Error("the database is away; nothing is stored until it is back", slog.String("store", w.store.name), slog.Any("error", err))
		if conn, err = w.again(ctx); err != nil {
			if ctx.Err() == nil {
				w.set(errEpoch)
				log.Error("another telex has taken the database; this one stops", slog.String("store", w.store.name), slog.Any("error", err))
				if w.lost != nil {
					w.lost(w.store.explain(ctx, "keep the store", err))
				}
			}
			return
		}
		log.Info("the database is back", slog.String("store", w.store.name))
	}
}

// again takes the ownership until that succeeds, ctx ends, or another process has it. That one may be a connection of a process
// that was killed, so it is believed only if it stays.
func (w *owner) again(ctx context.Context) (*pgx.Conn, error) {
	var taken time.Time
	for {
		conn, err := w.take(ctx)
		switch {
		case err == nil, errors.Is(err, errEpoch):
			return conn, err
		case !errors.Is(err, store.ErrLocked):
			taken = time.Time{}
		case taken.IsZero():
			taken = time.Now()
		case time.Since(taken) > checkEvery:
			return nil, err
		}
		if err := pause(ctx, ownAgain); err != nil {
			return nil, err
		}
	}
}

// trouble returns why nothing may be written now.
func (w *owner) trouble() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *owner) set(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

// check fails unless this process is the owner; epoch is the one in the database. Without an owner it always succeeds.
func (w *owner) check(epoch int64) error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && epoch != w.epoch {
		return errEpoch
	}
	return w.err
}

// close gives up the ownership.
func (w *owner) close() {
	w.stop()
	w.ended.Wait()
}
