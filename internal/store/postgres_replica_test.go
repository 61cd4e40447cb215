//go:build postgres

package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store/pgtest"
	"telex/internal/store/postgres"
)

var _ shared = (*postgres.Store)(nil)

// TestPostgreSQLReplicas runs the suite of tests for processes that share a database.
func TestPostgreSQLReplicas(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, false)
	template := emptyDatabase(t, server)
	replicaSuite(t, func(t *testing.T, run func(*cluster)) {
		name, dsn := server.Create(t, template)
		run(databaseCluster(t, server, name, dsn))
	})
}

// databaseCluster returns a cluster of processes that share a database. The cluster's function sleep moves all times in
// the database into the past, so that no test has to wait until time has passed.
func databaseCluster(t *testing.T, server *pgtest.Server, name, dsn string) *cluster {
	return &cluster{
		T: t,
		open: func(ctx context.Context) (shared, error) {
			s, err := postgres.Open(ctx, postgres.Options{DSN: dsn})
			if err != nil {
				return nil, err // return nil explicitly: a nil *Store in the interface would not be nil
			}
			t.Cleanup(func() { mustClose(t, s) })
			return s, nil
		},
		sleep: func(d time.Duration) {
			past := fmt.Sprintf("- interval '%d microseconds'", d.Microseconds())
			server.Exec(t, name, "UPDATE replica SET expires = expires "+past)
			server.Exec(t, name, "UPDATE pace SET began = ARRAY(SELECT at "+past+" FROM unnest(began) AS at)")
		},
	}
}

// The clocks of two processes differ by a minute. Each process must convert the stored times that it reads to its own
// clock.
func TestPostgreSQLClocks(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, false)
	_, dsn := server.Create(t, "")
	open := func(ahead time.Duration) *fixture {
		s, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, Migrate: true, Now: func() time.Time { return time.Now().Add(ahead) }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { mustClose(t, s) })
		f := &fixture{T: t, Store: s}
		_, err = s.Register(t.Context(), chat.Replica{Endpoints: []chat.EndpointID{"tg"}})
		f.must(err)
		return f
	}
	right, ahead := open(0), open(time.Minute)
	near := func(what string, got, want time.Time) {
		t.Helper()
		if off := got.Sub(want).Abs(); off > 20*time.Second { // generous, so that the test passes on a slow machine
			t.Errorf("%s is off by %v", what, off)
		}
	}
	ahead.accept(private("1"), "1")
	now := time.Now()
	for who, f := range map[*fixture]time.Time{right: now, ahead: now.Add(time.Minute)} {
		pending, err := who.Pending(t.Context())
		who.must(err)
		near("a message's time", pending[0].Accepted, f)
	}
	ahead.must(ahead.SaveBlock(t.Context(), "tg", chat.Block{Scope: chat.ScopeEndpoint, Until: now.Add(time.Minute + time.Hour)}))
	for who, f := range map[*fixture]time.Time{right: now, ahead: now.Add(time.Minute)} {
		blocks, err := who.Blocks(t.Context(), "tg")
		who.must(err)
		near("a block's end", blocks[0].Until, f.Add(time.Hour))
	}
}

// If a newer program has only added something to the database's schema, this program must still be able to use the
// database.
func TestPostgreSQLOfANewerProgram(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, false)
	template := emptyDatabase(t, server)
	for _, table := range server.Query(t, template, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version'") {
		server.Exec(t, template, "ALTER TABLE "+table+" ADD COLUMN later text NOT NULL DEFAULT 'later'")
	}
	server.Exec(t, template, "CREATE TABLE later (id bigint PRIMARY KEY, turn text REFERENCES turn)",
		"INSERT INTO goose_db_version (version_id, is_applied) SELECT max(version_id) + 1, true FROM goose_db_version")
	suite(t, func(t *testing.T) opener {
		_, dsn := server.Create(t, template)
		return postgresOpener(dsn)
	})
	replicaSuite(t, func(t *testing.T, run func(*cluster)) {
		name, dsn := server.Create(t, template)
		run(databaseCluster(t, server, name, dsn))
	})
}
