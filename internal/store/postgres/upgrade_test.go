//go:build postgres

package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"telex/internal/chat"
	"telex/internal/store"
	"telex/internal/store/pgtest"
)

// program plays a release of telex, which has its own list of migrations.
type program struct {
	*testing.T
	dsn   string
	knows schemas
}

// newProgram returns the current release, with the migrations of this source tree.
func newProgram(t *testing.T, dsn string) program {
	knows, err := known()
	p := program{t, dsn, knows}
	p.must(err)
	return p
}

// after returns the release that follows the release p and has one more migration.
func (p program) after(oldest int64, migration string) program {
	files := fstest.MapFS{}
	list, err := fs.ReadDir(p.knows.files, ".")
	p.must(err)
	for _, f := range list {
		text, err := fs.ReadFile(p.knows.files, f.Name())
		p.must(err)
		files[f.Name()] = &fstest.MapFile{Data: text}
	}
	p.knows.newest++
	files["0000"+string(rune('0'+p.knows.newest))+"_next.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + migration)}
	p.knows.files, p.knows.oldest = files, oldest
	return p
}

func (p program) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p program) open(migrate bool) (*Store, error) {
	s, err := open(p.Context(), Options{DSN: p.dsn, Migrate: migrate}, p.knows)
	if err == nil {
		p.Cleanup(func() { p.must(s.Close()) })
	}
	return s, err
}

// runs opens the store as a daemon of this release does, and registers the process as a replica.
func (p program) runs(name string) *Store {
	p.Helper()
	s, err := p.open(true)
	p.must(err)
	p.register(s, name)
	return s
}

// register registers the process as a replica, with a lease that does not end during the test.
func (p program) register(s *Store, name string) {
	p.Helper()
	_, err := s.Register(p.Context(), chat.Replica{Name: name, Version: "1." + name, Endpoints: []chat.EndpointID{"tg"}})
	p.must(err)
	_, err = s.pool.Exec(p.Context(), "UPDATE replica SET expires = expires + interval '1 hour' WHERE id = $1", s.self.Load())
	p.must(err)
}

// answers checks that a process of this release can accept a message, take it and answer it.
func (p program) answers(s *Store, call int64, id string) {
	p.Helper()
	ctx, c := p.Context(), chat.Conversation{Endpoint: "tg", Chat: "1"}
	in := chat.Inbound{ID: chat.MessageID(id), To: chat.Target{Chat: "1"}, Text: "question"}
	s.count(nil) // count the chats of the replicas anew, as after a renewal of the lease
	_, err := s.Accept(ctx, c, in)
	p.must(err)
	taken, err := s.Take(ctx, call, 10)
	p.must(err)
	if len(taken.Messages) != 1 || taken.Messages[0].Message.ID != in.ID {
		p.Fatalf("got %+v, want message %s", taken, id)
	}
	p.must(s.Begin(ctx, chat.Turn{ID: id, Conversation: c, To: in.To, Messages: []chat.Inbound{in}}))
	p.must(s.Record(ctx, id, chat.Part{State: chat.PartStands, Text: "answer"}))
	p.must(s.End(ctx, id, chat.Growth{}))
	p.must(s.Free(ctx, false, c))
}

// fails checks that err is the error want, and that its text says what to do.
func (p program) fails(err, want error, text string) {
	p.Helper()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		p.Fatalf("got %v, want %v with %q", err, want, text)
	}
}

// In a rolling upgrade, two consecutive releases run at the same time, and both must work. While a program runs that
// could not use the new schema, a migration to this schema must fail.
func TestPostgreSQLRollingUpgrade(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, true) // the server must sync, because Check would report a server without syncs as a risk
	_, dsn := server.Create(t, "")
	old := newProgram(t, dsn)
	expand := old.after(2, "ALTER TABLE turn ADD COLUMN mood text NOT NULL DEFAULT ''; CREATE TABLE mood (name text); UPDATE turn SET mood = state;")
	contract := expand.after(3, "ALTER TABLE turn DROP COLUMN reply_to; UPDATE compatibility SET oldest = 3;")

	first := old.runs("old")
	old.answers(first, 1, "m1")
	next := expand.runs("next")
	old.answers(first, 2, "m2") // the old program must still be able to answer messages
	expand.answers(next, 1, "m3")
	again, err := old.open(true) // the old program must also be able to start again
	old.must(err)
	if report, err := again.Check(t.Context()); err != nil || report.Schema != 3 || report.Knows != 2 || report.Keys != 3 || len(report.Problems) > 0 {
		t.Fatalf("got %+v, %v", report, err)
	}
	old.register(again, "again")
	old.answers(again, 1, "m4")
	old.must(again.Unregister(t.Context()))

	_, err = contract.open(true)
	contract.fails(err, store.ErrLocked, "telex 1.old (old) can't use schema 4: upgrade that one first, to a version that knows schema 3 or newer")
	old.answers(first, 3, "m5")
	old.must(first.Unregister(t.Context()))
	_, err = contract.open(true)
	contract.must(err)
	_, err = old.open(true)
	old.fails(err, store.ErrNewer, "a telex must know schema 3 or newer to use it, and this one knows 2: upgrade this one")
	_, err = first.Register(t.Context(), chat.Replica{}) // this process has not noticed the migration
	old.fails(err, store.ErrNewer, "upgrade this one")
	_, err = expand.open(true)
	expand.must(err)
	if _, err := next.Renew(t.Context(), chat.Replica{Endpoints: []chat.EndpointID{"tg"}}); err != nil {
		t.Fatal(err)
	}
}

// A migration first checks that no program runs that could not use the new schema. Until the migration ends, it must be
// impossible to start a program that could not use the new schema. If the migration loses the lock that prevents such a
// start, the migration must stop.
func TestPostgreSQLMigrationAlone(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, false)
	name, dsn := server.Create(t, "")
	old := newProgram(t, dsn)
	expand := old.after(2, "CREATE TABLE mood (name text);")
	contract := expand.after(3, "SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock(42); ALTER TABLE turn DROP COLUMN reply_to; UPDATE compatibility SET oldest = 3;")
	late, err := old.open(true)
	old.must(err)
	_, err = expand.open(true)
	old.must(err)
	gate, err := late.pool.Acquire(t.Context())
	old.must(err)
	t.Cleanup(gate.Release)
	do := func(query string) {
		_, err := gate.Exec(t.Context(), query)
		old.must(err)
	}
	const who = "SELECT pid::text FROM pg_locks WHERE locktype = 'advisory' AND objid = %d AND granted = %t"
	begin := func() <-chan error {
		do("SELECT pg_advisory_lock(42)")
		done := make(chan error, 1)
		go func() {
			_, err := contract.open(true)
			done <- err
		}()
		awaitRows(t, server, name, fmt.Sprintf(who, 42, false))
		return done
	}

	done := begin()
	for _, pid := range awaitRows(t, server, name, fmt.Sprintf(who, lockSchema, true)) {
		server.Query(t, name, "SELECT pg_terminate_backend("+pid+")::text")
	}
	do("SELECT pg_advisory_unlock(42)")
	if err := <-done; err == nil {
		t.Fatal("a migration went on after its lock was lost")
	}

	done = begin()
	if _, err := late.Register(t.Context(), chat.Replica{Name: "late"}); !errors.Is(err, errMigrating) {
		t.Errorf("a program that must not begin now: got %v", err)
	}
	do("SELECT pg_advisory_unlock(42)")
	old.must(<-done)
	_, err = late.Register(t.Context(), chat.Replica{Name: "late"})
	old.fails(err, store.ErrNewer, "upgrade this one")
}

// awaitRows repeats a query until it returns rows, and returns these rows.
func awaitRows(t *testing.T, server *pgtest.Server, name, query string) (rows []string) {
	t.Helper()
	for len(rows) == 0 && t.Context().Err() == nil {
		rows = server.Query(t, name, query)
	}
	return rows
}

// A program that knows only schema 1 assumes that no other process uses the database. The migration to schema 2 must
// fail until a program that knows only schema 1 has ended. Afterwards, the new program must get the unfinished work of
// the old one. If the old program has not ended, but only lost its connection, it must notice that another process took
// over.
func TestPostgreSQLUpgradeOfOneDaemon(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, false)
	name, dsn := server.Create(t, "")
	now := newProgram(t, dsn)
	schema1, err := os.ReadFile("migrations/00001_schema.sql")
	now.must(err)
	server.Exec(t, name, string(schema1),
		"CREATE TABLE goose_db_version (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, version_id bigint, is_applied boolean, tstamp timestamp DEFAULT now())",
		"INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, true), (1, true)",
		"INSERT INTO owner VALUES ('daemon', 7, 'telex', now())",
		"INSERT INTO conversation (endpoint, chat, thread) VALUES ('tg', '1', ''), ('tg', '2', '')",
		`INSERT INTO inbox (endpoint, origin, thread, message, conversation, person, body, accepted_at) VALUES ('tg', '1', '', 'm', 1, 'u', '{"ID":"m"}', now())`,
		"INSERT INTO turn VALUES ('t', 2, '2', '', 0, '', 'running', false, false, 1, NULL, 'u', '', now(), now(), NULL)")
	alone, err := connect(t.Context(), Options{DSN: dsn})
	now.must(err)
	conn, err := alone.pool.Acquire(t.Context())
	now.must(err)
	_, err = conn.Exec(t.Context(), tryOwner, lockClass, lockOwner) // take the lock that a program with only schema 1 takes
	now.must(err)
	_, err = now.open(false)
	now.fails(err, store.ErrOlder, "run telex store migrate or telex run, which update it")
	_, err = now.open(true)
	now.fails(err, store.ErrLocked, "of a version that can't share the database: stop it first")
	conn.Release()
	now.must(alone.Close())

	s := now.runs("new")
	taken, err := s.Take(t.Context(), 1, 10)
	now.must(err)
	if len(taken.Messages) != 1 || len(taken.Turns) != 1 || len(taken.Chats) != 0 {
		t.Fatalf("got %+v", taken)
	}
	if got := server.Query(t, name, "SELECT epoch::text FROM owner"); len(got) != 1 || got[0] != "8" {
		t.Errorf("got epoch %v, want another one than the old program's", got)
	}
	if from, to := s.Migrated(); from != 1 || to != 2 {
		t.Errorf("migrated from %d to %d", from, to)
	}
}

// While a process migrates the schema, its machine may die. The test checks the settings with which the server notices
// this failure within about 15 seconds.
func TestPostgreSQLMigrationOfADeadMachine(t *testing.T) {
	t.Parallel()
	_, dsn := pgtest.Start(t, false).Create(t, "")
	s, err := connect(t.Context(), Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	conn, err := pgx.ConnectConfig(t.Context(), s.pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer hangUp(t.Context(), conn)
	if err := lockMigrations(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "3", "tcp_keepalives_count": "3", "tcp_user_timeout": "15000", "lock_timeout": "10s",
	} {
		var got string
		if err := conn.QueryRow(t.Context(), "SHOW "+name).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %q, %v, want %q", name, got, err, want)
		}
	}
}
