package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"telex/internal/chat"
)

// Options configures the store.
type Options struct {
	DSN string       // a URL: postgres://user:password@host:5432/database?sslmode=verify-full
	Log *slog.Logger // nil: nothing is logged
	Now func() time.Time
	// Observe is called after each transaction with the transaction's kind and duration. The duration includes the time
	// for which the transaction waited. The kinds of transactions are read, write, accept (storing a received message) and
	// erase. Observe must not block. Observe may be nil.
	Observe func(kind string, took time.Duration)
	// Migrate makes Open update the schema to the newest version.
	Migrate bool
}

// Store is an open store. The methods of Store are safe for concurrent use. Most methods of Store run exactly one
// transaction. When a method returns without an error, its data is on the disk of the database server.
type Store struct {
	name string // name of the database, shown to people
	log  *slog.Logger
	now  func() time.Time
	told func(kind string, took time.Duration) // never nil
	pool *pgxpool.Pool
	// urgent is a separate pool of connections for urgent calls, such as the renewal of the lease. Urgent calls must not
	// wait when all connections in the field pool are in use.
	urgent *pgxpool.Pool

	knows schemas
	from  int64 // version of the schema before Open migrated it

	self  atomic.Int64 // the chat.ReplicaID of this process; 0: this process is not a replica
	ahead atomic.Int64 // number of nanoseconds by which this process's clock is ahead of the server's

	mu     sync.Mutex
	given  map[chat.ReplicaID]int // for each replica, the number of chats that it owns, as far as this process knows
	doubts map[string]*call       // the calls whose outcome is unknown, by the field key of call
	closed bool
}

const (
	// minServer is the oldest version of PostgreSQL that the store supports.
	minServer = 150000
	// connectTimeout is the longest time that one attempt to connect may take. If the DSN contains connect_timeout, this
	// value replaces the default.
	connectTimeout = 5 * time.Second
	// poolSize is the maximum number of connections in the pool. If the DSN contains pool_max_conns, this value replaces
	// the default. More connections would not help, because all of them would wait for the same disk.
	poolSize = 10
	// urgentSize is the maximum number of connections in the pool urgent.
	urgentSize = 2
)

// Open opens the store. The error of Open may wrap store.ErrAway, store.ErrLocked, store.ErrNewer, store.ErrOlder,
// store.ErrEmpty or store.ErrForeign.
func Open(ctx context.Context, o Options) (*Store, error) {
	knows, err := known()
	if err != nil {
		return nil, err
	}
	return open(ctx, o, knows)
}

// open does the work of Open. The parameter knows contains the schema versions that the program knows; tests pass other
// versions.
func open(ctx context.Context, o Options, knows schemas) (*Store, error) {
	s, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	s.knows = knows
	if o.Migrate {
		err = s.migrate(ctx)
	}
	if err == nil {
		err = s.current(ctx)
	}
	if err != nil {
		return nil, errors.Join(s.explain(ctx, "open store", err), s.Close())
	}
	return s, nil
}

// connect connects to the database and checks the server.
func connect(ctx context.Context, o Options) (*Store, error) {
	c, err := parse(o.DSN)
	if err != nil {
		return nil, err
	}
	s := &Store{
		name: databaseName(c.ConnConfig), log: o.Log, now: o.Now, told: o.Observe, doubts: make(map[string]*call),
		given: make(map[chat.ReplicaID]int),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.told == nil {
		s.told = func(string, time.Duration) {}
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		return nil, s.explain(ctx, "open store", err)
	}
	few := c.Copy()
	few.MinConns, few.MinIdleConns, few.MaxConns = 0, 0, urgentSize
	if s.urgent, err = pgxpool.NewWithConfig(ctx, few); err == nil {
		err = s.inspect(ctx)
	}
	if err != nil {
		return nil, errors.Join(s.explain(ctx, "open store", err), s.Close())
	}
	return s, nil
}

// parse parses a DSN and adds the settings that each connection of the store needs. The error of parse does not
// contain the DSN, because the DSN may contain a password.
func parse(dsn string) (*pgxpool.Config, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return nil, errDSN
	}
	c, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, wrongDSN(err)
	}
	_, after, _ := strings.Cut(dsn, "?") // the driver accepts several hosts, but net/url does not
	q, err := url.ParseQuery(after)
	if err != nil {
		return nil, errDSN
	}
	if !q.Has("pool_max_conns") {
		c.MaxConns = poolSize
	}
	if !q.Has("connect_timeout") {
		c.ConnConfig.ConnectTimeout = connectTimeout
	}
	if !q.Has("target_session_attrs") { // don't connect to a standby server, because it refuses writes
		c.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if !q.Has("application_name") {
		c.ConnConfig.RuntimeParams["application_name"] = "telex"
	}
	// Limit how long each call waits for the locks of other connections.
	c.ConnConfig.RuntimeParams["lock_timeout"] = "10s"
	// If this process is paused during a transaction, the transaction's locks keep other replicas from taking over the
	// process's chats. So the server must end such a transaction at about the time at which the process's lease ends. Two
	// seconds are subtracted because the process may have renewed its lease two seconds before the pause began.
	c.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = strconv.FormatInt((chat.LeaseTime - 2*time.Second).Milliseconds(), 10)
	c.ConnConfig.RuntimeParams["timezone"] = "UTC"
	c.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		return nil
	}
	return c, nil
}

// databaseName returns a name of the database, without the password, that can be shown to people.
func databaseName(c *pgx.ConnConfig) string {
	hosts := []string{hostName(c.Host, c.Port)}
	for _, f := range c.Fallbacks { // the fallbacks may contain a host again, for a connection without TLS
		if h := hostName(f.Host, f.Port); !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	return fmt.Sprintf("database %s at %s", cmp.Or(c.Database, c.User), strings.Join(hosts, ", "))
}

func hostName(host string, port uint16) string {
	if strings.HasPrefix(host, "/") { // the directory of a Unix socket
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// inspect returns an error if the store can't use the server, for example because its version is too old.
func (s *Store) inspect(ctx context.Context) error {
	var version int
	var shown, encoding string
	err := s.pool.QueryRow(ctx, serverVersion).Scan(&version, &shown, &encoding)
	switch {
	case err != nil:
		return err
	case version < minServer:
		return fmt.Errorf("%s is PostgreSQL %s: telex needs 15 or newer", s.name, shown)
	case encoding != "UTF8":
		return fmt.Errorf("%s has the encoding %s: create it with ENCODING 'UTF8'", s.name, encoding)
	}
	return nil
}

// Name returns a name of the database that can be shown to people.
func (s *Store) Name() string { return s.name }

// Ping runs an empty write and an empty read, and returns when both have ended.
func (s *Store) Ping(ctx context.Context) error {
	nothing := func(*tx) {}
	if err := s.update(ctx, "ping store", nothing); err != nil {
		return err
	}
	return s.view(ctx, "ping store", nothing)
}

// Close waits for running calls and closes all connections.
func (s *Store) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if !closed {
		s.pool.Close() // Close of the pool waits for running calls
		if s.urgent != nil {
			s.urgent.Close()
		}
	}
	return nil
}
