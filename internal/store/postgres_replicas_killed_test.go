//go:build postgres

package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store/pgtest"
	"telex/internal/store/postgres"
)

// worker plays a process that answers messages in the simplest way: while it has a lease, it takes unfinished work and
// completes it.
type worker struct {
	*testing.T
	store *postgres.Store
	lost  *atomic.Int64 // number of leases that the workers have lost
	done  *atomic.Int64 // number of messages that the workers have answered
}

// work registers the worker's process and answers messages until ctx ends. When the process has lost its lease, work
// registers it again.
func (w worker) work(ctx context.Context) {
	for ctx.Err() == nil {
		id, err := w.store.Register(ctx, w.self())
		if err != nil {
			time.Sleep(10 * time.Millisecond) // wait in real time, because the server is a real process
			continue
		}
		w.live(ctx, id)
	}
}

func (worker) self() chat.Replica {
	return chat.Replica{Name: "worker", Endpoints: []chat.EndpointID{"tg"}}
}

// live takes and completes unfinished work until the lease is lost or ctx ends.
func (w worker) live(ctx context.Context, id chat.ReplicaID) {
	ctx, lose := context.WithCancel(ctx)
	var loops sync.WaitGroup
	defer loops.Wait()
	defer lose()
	heard := make(chan chat.Signal, 1)
	loops.Go(func() {
		for ctx.Err() == nil {
			_ = w.store.Listen(ctx, func(s chat.Signal) { // ignore the error: if Listen fails, the ticker replaces the signals
				select {
				case heard <- s:
				default:
				}
			})
		}
	})
	loops.Go(func() {
		for renewed := time.Now(); ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
			asked := time.Now()
			switch _, err := w.store.Renew(ctx, w.self()); {
			case err == nil:
				renewed = asked
			case errors.Is(err, chat.ErrLost), time.Since(renewed) > chat.LeaseTime:
				w.lost.Add(1)
				lose()
			}
		}
	})
	ticks := time.NewTicker(200 * time.Millisecond)
	defer ticks.Stop()
	for call := int64(1); ; {
		select {
		case <-heard:
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		taken, err := w.store.Take(ctx, call, 2)
		if err != nil {
			continue
		}
		call++
		var answering sync.WaitGroup
		for _, answers := range w.plan(ctx, taken) {
			answering.Go(func() {
				for _, answer := range answers {
					if answer() != nil { // after a failure, the chat's next owner does the remaining work
						return
					}
				}
			})
		}
		answering.Wait()
	}
}

// plan converts the work that a call of Take has returned to functions that do this work. For each chat, plan returns
// these functions in order.
func (w worker) plan(ctx context.Context, taken chat.Taken) map[chat.Conversation][]func() error {
	plan := make(map[chat.Conversation][]func() error)
	for _, t := range taken.Turns {
		plan[t.Conversation] = append(plan[t.Conversation], func() error { return w.finish(ctx, t) })
	}
	for _, m := range taken.Messages {
		t := turnOf(string(m.Message.ID), m.Conversation, m.Message.ID)
		plan[m.Conversation] = append(plan[m.Conversation], func() error { return w.finish(ctx, t) })
	}
	return plan
}

// finish completes a turn, whatever its current state is.
func (w worker) finish(ctx context.Context, t chat.Turn) error {
	steps := []func() error{
		func() error { return w.store.Begin(ctx, t) },
		func() error {
			return w.store.Record(ctx, t.ID, chat.Part{State: chat.PartStands, Key: t.ID, Text: "a"})
		},
		func() error {
			d := decision("a", "q "+t.ID, "a "+t.ID)
			d.Usage = []chat.Usage{{Prompt: 1, Calls: 1}}
			return w.store.Decide(ctx, t.ID, d)
		},
		func() error { return w.store.End(ctx, t.ID, chat.Growth{}) },
	}
	if t.State == chat.TurnDecided {
		steps = steps[len(steps)-1:]
	}
	for _, step := range steps {
		if err := persistent(ctx, step); err != nil {
			return err
		}
	}
	w.done.Add(1)
	return nil
}

// Three processes share a database server that is killed again and again. During the test, one of the processes is also
// replaced by a new one. Each message must be answered once and in order, regardless of which process accepted it.
func TestPostgreSQLReplicasKilled(t *testing.T) {
	t.Parallel()
	const conversations, messages, kills, replicas = 8, 40, 4, 3
	server := pgtest.Start(t, true)
	name, dsn := server.Create(t, "")
	open := func() *postgres.Store {
		s, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { mustClose(t, s) })
		return s
	}
	var lost, done atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var working, talking sync.WaitGroup
	defer working.Wait()
	defer stop()
	start := func(s *postgres.Store) (end context.CancelFunc) {
		ctx, end := context.WithCancel(ctx)
		working.Go(func() { worker{t, s, &lost, &done}.work(ctx) })
		return end
	}
	var stores []*postgres.Store
	ends := make([]context.CancelFunc, replicas)
	for i := range replicas {
		stores = append(stores, open())
		ends[i] = start(stores[i])
	}
	for n := range conversations {
		talking.Go(func() {
			c := private(chat.ChatID(fmt.Sprint(n)))
			for i := range messages {
				in := message(c, chat.MessageID(fmt.Sprintf("%d-%d", n, i)))
				for at := 1; ; at++ { // if this replica does not accept the message, try another one
					_, err := stores[1+at%(replicas-1)].Accept(ctx, c, in)
					if err == nil || ctx.Err() != nil {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
	await := func(want int64) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); done.Load() < want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d answers; leases lost: %d", done.Load(), want, lost.Load())
			}
		}
	}
	for kill := range int64(kills) {
		await((kill + 1) * conversations * messages / (kills + 2))
		server.Kill(t)
		server.Restart(t)
	}
	ends[0]() // as after a kill, the process ends without giving up its lease
	start(open())
	talking.Wait()

	f := &fixture{T: t, Store: stores[1]}
	for deadline := time.Now().Add(2 * time.Minute); len(f.waiting()) > 0 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	f.waits()
	for n := range conversations {
		var want []string
		for i := range messages {
			want = append(want, fmt.Sprintf("q %d-%d", n, i), fmt.Sprintf("a %d-%d", n, i))
		}
		f.remembers(private(chat.ChatID(fmt.Sprint(n))), want...)
	}
	f.uses(chat.UsageOf{}, conversations*messages, conversations*messages)
	if left := server.Query(t, name, "SELECT id || ' of ' || state FROM turn WHERE ended_at IS NULL"); !slices.Equal(left, nil) {
		t.Errorf("left: %v", left)
	}
	t.Logf("leases lost: %d", lost.Load())
}
