//go:build postgres

package store_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"telex/gateway"
	"telex/internal/store/pgtest"
	"telex/internal/store/postgres"
)

var _ gateway.Store = (*postgres.Store)(nil)

// postgresOpener opens the store in a database. It takes no ownership: the time of a bubble would not go on while a goroutine
// waits for the server.
func postgresOpener(dsn string) opener {
	return func(ctx context.Context) (gateway.Store, error) {
		s, err := postgres.Open(ctx, postgres.Options{DSN: dsn})
		if err != nil {
			return nil, err // not a gateway.Store that holds a nil store
		}
		return s, nil
	}
}

// emptyDatabase makes a database with the newest schema.
func emptyDatabase(t *testing.T, server *pgtest.Server) (name string) {
	t.Helper()
	name, dsn := server.Create(t, "")
	s, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, Own: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, false)
	template := emptyDatabase(t, server)
	suite(t, func(t *testing.T) opener {
		_, dsn := server.Create(t, template)
		return postgresOpener(dsn)
	})
}

func TestPostgreSQLModel(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, false)
	template := emptyDatabase(t, server)
	checkModel(t, func(t *testing.T, _ *rapid.T) opener {
		name, dsn := server.Create(t, template)
		t.Cleanup(func() { server.Exec(t, "postgres", "DROP DATABASE "+name) })
		return postgresOpener(dsn)
	})
}
