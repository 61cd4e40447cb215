package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"telex/internal/store/pgserver"
)

// replicas is a group of daemons that have the same configuration and share one PostgreSQL database.
type replicas struct {
	processes []*process
	database  *pgserver.Server
	name      string // name of the database
}

// startReplicas starts the database and n daemons, and waits until all of them share the database. Once all daemons share the
// database, startReplicas limits each of them to the given share of one processor. If share is 0, the processor time of the
// daemons is not limited.
func startReplicas(ctx context.Context, binary string, w *world, n int, share float64) (_ *replicas, err error) {
	r := &replicas{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.stop())
		}
	}()
	o := pgserver.Options{Durable: true, Settings: []string{"shared_preload_libraries=pg_stat_statements"}}
	if r.database, err = pgserver.Start(ctx, o); err != nil {
		return nil, err
	}
	var dsn string
	if r.name, dsn, err = r.database.Create(ctx, ""); err != nil {
		return nil, err
	}
	if err := r.database.Exec(ctx, r.name, "CREATE EXTENSION pg_stat_statements"); err != nil {
		return nil, err
	}
	config := w.Config(modelKey, fmt.Sprintf("streaming: {telegram: {enabled: true}}\nstore: {dsn: %q}", dsn))
	for range n {
		p, err := launch(config, binary, "run", "--config", configFile)
		if err != nil {
			return nil, err
		}
		r.processes = append(r.processes, p)
	}
	for _, p := range r.processes {
		if err := errors.Join(p.awaitJoined(ctx), p.limit(share)); err != nil {
			return nil, err
		}
	}
	_, err = w.awaitPoll(ctx, r.processes[0].Exited)
	return r, err
}

// awaitJoined waits until the daemon is one of the replicas that share the database.
func (p *process) awaitJoined(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		log, err := os.ReadFile(filepath.Join(p.dir, "log"))
		if err != nil || bytes.Contains(log, []byte("joined the other replicas")) {
			return err
		}
		select {
		case <-p.Exited:
			return fmt.Errorf("the daemon ended: %s", log)
		case <-ctx.Done():
			return fmt.Errorf("the daemon has not joined the replicas: %s", log)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// usage implements bot. usage returns the sum of the usages of all daemons.
func (r *replicas) usage() (sum usage, err error) {
	for _, p := range r.processes {
		u, err := p.usage()
		if err != nil {
			return sum, err
		}
		sum.cpu += u.cpu
		sum.rss += u.rss
		sum.peak += u.peak
	}
	sum.database, err = r.database.CPU()
	return sum, err
}

// stop implements bot.
func (r *replicas) stop() (err error) {
	for _, p := range r.processes {
		err = errors.Join(err, p.stop())
	}
	if r.database != nil {
		err = errors.Join(err, r.database.Close())
	}
	return err
}

// statements returns the number of statements that the database has run.
func (r *replicas) statements(ctx context.Context) (float64, error) {
	list, err := r.database.Query(ctx, r.name, "SELECT coalesce(sum(calls), 0)::text FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())")
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(list[0], 64)
}

// replicaScenarios returns the scenarios with several daemons on one database.
func replicaScenarios() []scenario {
	return []scenario{
		{
			name: "replicas-crowd", title: "50 chats at once, 400 tokens each, 30 calls/s for all",
			loads: []load{{50, 400}, {50, 400}}, replicas: []int{1, 2, 3},
			bars: []bar{{stalenessToOne, 1.10}, {shownTwice, 0}},
		},
		{
			name: "replicas-busy", title: "300 people of 10 bots ask again as soon as they are answered, 150 tokens at once",
			replicas: []int{1, 2, 3}, busy: busy{people: 300, bots: 10, length: 15 * time.Second}, latency: 20 * time.Millisecond,
		},
		{
			name: "replicas-hourly", title: "10,000 conversations with one message in each of two hours, an hour in five minutes",
			replicas: []int{3}, hourly: hourly{conversations: 10_000, bots: 4, hours: 2, hour: 5 * time.Minute}, latency: 20 * time.Millisecond,
			bars: []bar{{statementGrowth, 1.10}, {memoryAgain, 1}},
		},
		{
			// The share of each daemon is so small that the database, the stand-ins and the model have enough
			// processor time even on a small machine.
			name: "replicas-limited", title: "90 people of 10 bots ask again as soon as they are answered, each daemon with a twentieth of one processor",
			replicas: []int{1, 2, 3}, busy: busy{people: 90, bots: 10, length: 20 * time.Second, share: 0.05}, latency: 20 * time.Millisecond,
		},
	}
}
