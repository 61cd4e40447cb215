//go:build postgres

package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store/pgtest"
	"telex/internal/store/postgres"
)

// persistent repeats a call of the store until it succeeds or fails with a permanent error, as the gateway does.
func persistent(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil || errors.Is(err, chat.ErrFenced) || errors.Is(err, chat.ErrUnknown) || ctx.Err() != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond) // wait in real time, because the server is a real process
	}
}

// The test kills PostgreSQL with SIGKILL at random moments and restarts it. After each restart, the store must contain
// all acknowledged data exactly once, even the data of calls that were repeated because their outcome was unknown.
func TestPostgreSQLKilled(t *testing.T) {
	t.Parallel()
	const conversations, messages, kills = 8, 60, 5
	server := pgtest.Start(t, true)
	name, dsn := server.Create(t, "")
	s, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	var done atomic.Int64
	var talking sync.WaitGroup
	for n := range conversations {
		talking.Go(func() {
			c := private(chat.ChatID(fmt.Sprint(n)))
			for i := range messages {
				if err := exchange(t.Context(), s, c, fmt.Sprintf("%d-%d", n, i)); err != nil {
					t.Errorf("conversation %d, message %d: %v", n, i, err)
				}
				done.Add(1)
			}
		})
	}
	for kill := range int64(kills) {
		for done.Load() < (kill+1)*conversations*messages/(kills+1) {
			time.Sleep(time.Millisecond)
		}
		server.Kill(t)
		server.Restart(t)
	}
	talking.Wait()

	f := &fixture{T: t, Store: s}
	f.waits()
	for n := range conversations {
		var want []string
		for i := range messages {
			want = append(want, fmt.Sprintf("q %d-%d", n, i), fmt.Sprintf("a %d-%d", n, i))
		}
		f.remembers(private(chat.ChatID(fmt.Sprint(n))), want...)
	}
	f.uses(chat.UsageOf{}, conversations*messages, conversations*messages)
	for _, query := range []string{
		"SELECT id || ' ran ' || runs FROM turn WHERE runs <> 1",
		"SELECT message || ' was begun ' || attempts FROM inbox WHERE attempts <> 1",
		"SELECT turn || ' has parts ' || count(*) FROM part GROUP BY turn HAVING count(*) <> 1",
	} {
		if wrong := server.Query(t, name, query); len(wrong) > 0 {
			t.Errorf("%d times: %s", len(wrong), strings.Join(wrong, "; "))
		}
	}
}

// exchange stores a question and its answer in a conversation.
func exchange(ctx context.Context, s *postgres.Store, c chat.Conversation, id string) error {
	in := message(c, chat.MessageID(id))
	fresh := false
	err := persistent(ctx, func() (err error) {
		fresh, err = s.Accept(ctx, c, in)
		return err
	})
	if err != nil || !fresh {
		return fmt.Errorf("accept: fresh %v, %w", fresh, err)
	}
	steps := []func() error{
		func() error { return s.Begin(ctx, turnOf(id, c, in.ID)) },
		func() error { return s.Record(ctx, id, chat.Part{State: chat.PartIntended, Key: id}) },
		func() error {
			return s.Record(ctx, id, chat.Part{State: chat.PartStands, Text: "a", Ref: chat.MessageRef{ID: in.ID}})
		},
		func() error {
			d := decision("a", "q "+id, "a "+id)
			d.Usage = []chat.Usage{{Prompt: 1, Calls: 1}}
			return s.Decide(ctx, id, d)
		},
		func() error { return s.End(ctx, id, chat.Growth{}) },
	}
	for i, step := range steps {
		if err := persistent(ctx, step); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}
