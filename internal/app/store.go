package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
	"telex/internal/config"
	"telex/internal/store"
	"telex/internal/store/postgres"
)

// keptStore is a persistent store: an SQLite file or a PostgreSQL database.
type keptStore interface {
	gateway.Store
	storeReader
	DeletePerson(ctx context.Context, p chat.Person) (int, error)
	Sweep(ctx context.Context, now time.Time, retention time.Duration) (store.Swept, error)
}

// storeReader contains the methods of a store that are enough for commands that only read.
type storeReader interface {
	access.Moves
	PairingRequests(ctx context.Context) ([]chat.PairingRequest, error)
	Admitted(ctx context.Context) ([]chat.Admission, error)
	Sessions(ctx context.Context) ([]store.SessionInfo, error)
	Transcript(ctx context.Context, c chat.Conversation) (chat.Session, []chat.Entry, error)
	Account(ctx context.Context, o store.AccountOptions) (store.Account, error)
	Check(ctx context.Context) (store.Report, error)
	Close() error
}

// ErrDatabase means that a command supports only stores in a file, but the store is a database.
var ErrDatabase = errors.New("the store is a PostgreSQL database")

// location says where the store is. An operator's commands use a location to open the store.
type location struct {
	dir string // the state directory; the path of the daemon's socket depends on it
	dsn config.DSN
}

// locate determines where the store is, from the environment and the section store of the configuration.
func locate(env config.Env) (location, error) {
	c, err := config.LoadStore(env)
	if err != nil {
		return location{}, err
	}
	dir, err := stateDir(env)
	return location{dir, c.DSN}, err
}

// file returns the path of the store's file. Call file only if the store is an SQLite file.
func (l location) file() string { return store.File(l.dir) }

// fileOnly fails with ErrDatabase if the store is a PostgreSQL database. The error's text contains the parameter instead, which
// says what the operator can do in place of the command.
func (l location) fileOnly(instead string) error {
	if l.dsn.IsSQLite() {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrDatabase, instead)
}

// read opens the store for reading. A daemon may use the store at the same time.
func (l location) read(ctx context.Context) (storeReader, error) {
	if !l.dsn.IsSQLite() {
		s, err := postgres.Open(ctx, postgres.Options{DSN: l.dsn.Reveal()})
		if err != nil {
			return nil, err // return a nil interface, not one that contains a nil pointer
		}
		return s, nil
	}
	r, err := store.OpenReadOnly(ctx, store.Options{Path: l.file()})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoStore(l.file())
	}
	if err != nil {
		return nil, err // return a nil interface, not one that contains a nil pointer
	}
	return r, nil
}

// openReader locates the store and opens it for reading.
func openReader(ctx context.Context, env config.Env) (storeReader, error) {
	at, err := locate(env)
	if err != nil {
		return nil, err
	}
	return at.read(ctx)
}

// write opens the store for writing and updates its schema. If the store is a file and a daemon uses this file, write fails
// with store.ErrLocked. If the store is a database, daemons may use it at the same time, and get signals about changes.
func (l location) write(ctx context.Context) (keptStore, error) {
	if !l.dsn.IsSQLite() {
		s, err := postgres.Open(ctx, postgres.Options{DSN: l.dsn.Reveal(), Migrate: true})
		if err != nil {
			return nil, err // return a nil interface, not one that contains a nil pointer
		}
		return s, nil
	}
	if !exists(l.file()) {
		return nil, errNoStore(l.file())
	}
	s, err := store.Open(ctx, store.Options{Path: l.file()})
	if err != nil {
		return nil, err // return a nil interface, not one that contains a nil pointer
	}
	return s, nil
}

// openStore opens the configured store, for a daemon or for a conversation in the terminal without a daemon.
func (a *App) openStore(ctx context.Context, c *config.Config, o Options) (kept keptStore, err error) {
	dir, err := store.Dir(o.Env.Value)
	if err != nil {
		return nil, err
	}
	observe := func(string, time.Duration) {}
	if a.metrics != nil {
		observe = a.metrics.Stored
	}
	if c.Store.DSN.IsSQLite() {
		kept, err = a.openFile(ctx, store.Options{Path: store.File(dir), Log: o.Log, Observe: observe})
	} else if err = a.reserve(dir); err == nil {
		kept, err = a.openDatabase(ctx, postgres.Options{DSN: c.Store.DSN.Reveal(), Log: o.Log, Observe: observe}, o.Terminal == nil)
	}
	if err != nil {
		return nil, err
	}
	a.down.add("store", kept.Close)
	if err := a.share(kept, dir); err != nil {
		return nil, err
	}
	name, err := socketName(dir)
	if err != nil {
		return nil, err
	}
	a.socket = filepath.Join(runtimeDir(o.Env, dir), name)
	a.sweep = func(ctx context.Context) {
		switch done, err := kept.Sweep(ctx, time.Now(), a.parts.Load().config.Conversations.Retention); {
		case err != nil && ctx.Err() == nil:
			o.Log.Error("expired data could not be deleted", slog.Any("error", err))
		case err == nil:
			o.Log.Debug("expired data deleted", slog.Int64("messages", done.Messages), slog.Int64("turns", done.Turns),
				slog.Int64("history", done.Entries), slog.Int64("blocks", done.Blocks), slog.Int64("responses", done.Responses))
		}
	}
	return kept, nil
}

func (a *App) openFile(ctx context.Context, o store.Options) (keptStore, error) {
	opened := newSupervisor(o.Log).starting(ctx, "checking the store "+o.Path)
	defer opened()
	s, err := store.Open(ctx, o)
	if err != nil {
		return nil, err // return a nil interface, not one that contains a nil pointer
	}
	a.pings = append(a.pings, s.Ping)
	return s, nil
}

// reconnectPause is how long a daemon that starts waits between two attempts to reach the database.
const reconnectPause = 2 * time.Second

// openDatabase opens a store in a PostgreSQL database. If daemon is true, openDatabase waits until the database can be reached.
// The watchdog does not check the database connection. If the database can't be reached, restarting the daemon would not help.
// Calls to the database need no watchdog either, because each of these calls has a time limit.
func (a *App) openDatabase(ctx context.Context, o postgres.Options, daemon bool) (keptStore, error) {
	o.Migrate = true
	opened := newSupervisor(o.Log).starting(ctx, "opening the database")
	defer opened()
	for told := false; ; told = true {
		s, err := postgres.Open(ctx, o)
		if err == nil {
			return s, nil
		}
		if !daemon || !errors.Is(err, store.ErrAway) {
			return nil, err
		}
		if !told {
			o.Log.Error("the database can't be reached; trying again until it can", slog.Any("error", err))
		}
		timer := time.NewTimer(reconnectPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, err
		}
	}
}
