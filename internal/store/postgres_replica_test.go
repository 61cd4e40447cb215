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

// databaseCluster is a database with processes. Time passes there by moving what has a time into the past.
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
			past := fmt.Sprintf("- interval '%d microseconds'", d.Microseconds())
			server.Exec(t, name, "UPDATE replica SET expires = expires "+past)
			server.Exec(t, name, "UPDATE pace SET began = ARRAY(SELECT at "+past+" FROM unnest(began) AS at)")
		},
	}
}
