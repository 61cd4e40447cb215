//go:build postgres

package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"telex/internal/store/pgtest"
	"telex/internal/store/postgres"
)

var _ shared = (*postgres.Store)(nil)

// TestPostgreSQLReplicas runs the suite for processes that share a database.
func TestPostgreSQLReplicas(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, false)
	template := emptyDatabase(t, server)
	replicaSuite(t, func(t *testing.T, run func(*cluster)) {
		name, dsn := server.Create(t, template)
		run(databaseCluster(t, server, name, dsn))
	})
}

// databaseCluster is a database with processes. Time passes there by an earlier end of all leases.
func databaseCluster(t *testing.T, server *pgtest.Server, name, dsn string) *cluster {
	return &cluster{
		T: t,
		open: func(ctx context.Context) (shared, error) {
			s, err := postgres.Open(ctx, postgres.Options{DSN: dsn})
			if err != nil {
				return nil, err // not a store that holds a nil store
			}
			t.Cleanup(func() { mustClose(t, s) })
			return s, nil
		},
		sleep: func(d time.Duration) {
			server.Exec(t, name, fmt.Sprintf("UPDATE replica SET expires = expires - interval '%d microseconds'", d.Microseconds()))
		},
	}
}
