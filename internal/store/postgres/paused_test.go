//go:build postgres

package postgres

import (
	"context"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store/pgtest"
)

// The test pauses a process during a transaction that has locked the row of a chat. Soon after the paused process's
// lease has ended, another process must become the chat's owner.
func TestPostgreSQLPausedInATransaction(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, false)
	name, dsn := server.Create(t, "")
	p := newProgram(t, dsn)
	paused, other := p.runs("paused"), p.runs("other")
	c := chat.Conversation{Endpoint: "tg", Chat: "1"}
	_, err := paused.Accept(t.Context(), c, chat.Inbound{ID: "1", To: chat.Target{Chat: "1"}})
	p.must(err)
	conn, err := paused.pool.Acquire(t.Context())
	p.must(err)
	defer conn.Release()
	for _, query := range []string{"BEGIN", "SELECT FROM chat FOR KEY SHARE"} {
		_, err = conn.Exec(t.Context(), query)
		p.must(err)
	}
	began := time.Now()
	server.Exec(t, name, "UPDATE replica SET expires = clock_timestamp() WHERE name = 'paused'")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for call := int64(1); ; call++ {
		taken, err := other.Take(ctx, call, 1)
		p.must(err)
		if len(taken.Messages) == 1 {
			break
		}
		p.must(pause(ctx, 50*time.Millisecond))
	}
	if took := time.Since(began); took > 2*chat.LeaseTime {
		t.Errorf("the chat was taken after %v", took)
	}
}

// The test uses all connections of a replica's pool. Although all connections are in use, the replica must be able to
// renew its lease.
func TestPostgreSQLRenewsWhileBusy(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, false)
	_, dsn := server.Create(t, "")
	p := newProgram(t, dsn)
	s := p.runs("busy")
	for range poolSize {
		conn, err := s.pool.Acquire(t.Context())
		p.must(err)
		defer conn.Release()
	}
	if _, err := s.Renew(t.Context(), chat.Replica{Endpoints: []chat.EndpointID{"tg"}}); err != nil {
		t.Error(err)
	}
}
