//go:build postgres

package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"telex/internal/chat"
	"telex/internal/store/pgtest"
)

// trips is a pgx tracer that counts a connection's round trips to the server.
type trips struct{ n int }

func (c *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n++
	return ctx
}
func (*trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n++
	return ctx
}
func (*trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// cost is what a call of a store's method costs: the number of round trips to the server, and the number of rows that
// the server read.
type cost struct{ trips, rows int }

// meter is a Store that measures the cost of its calls.
type meter struct {
	program
	*Store
	counted *trips
	call    int64
}

func newMeter(p program) *meter {
	p.Helper()
	m := &meter{program: p, Store: p.runs("metered"), counted: &trips{}}
	c, err := parse(p.dsn)
	p.must(err)
	c.MaxConns, c.ConnConfig.Tracer = 1, m.counted
	m.pool.Close()
	m.urgent.Close()
	m.pool, err = pgxpool.NewWithConfig(p.Context(), c)
	p.must(err)
	m.urgent = m.pool
	return m
}

// read returns how many rows the server has read so far.
func (m *meter) read() (rows int) {
	m.Helper()
	_, err := m.pool.Exec(m.Context(), "SELECT pg_stat_force_next_flush()")
	m.must(err)
	m.must(m.pool.QueryRow(m.Context(),
		"SELECT sum(seq_tup_read + COALESCE(idx_tup_fetch, 0))::int FROM pg_stat_user_tables").Scan(&rows))
	return rows
}

// of returns the average cost of n calls of the function do.
func (m *meter) of(n int, do func(i int) error) cost {
	m.Helper()
	_, err := m.pool.Exec(m.Context(), "UPDATE replica SET expires = clock_timestamp() + interval '1 hour'")
	m.must(err)
	rows := m.read()
	m.counted.n = 0
	for i := range n {
		m.must(do(i))
	}
	trips := m.counted.n
	return cost{trips / n, (m.read() - rows) / n}
}

// fill runs statements that fill the database. The statements run on the metered connection, so that the server counts
// the rows that they read before the next measurement, not during it.
func (m *meter) fill(statements ...string) {
	m.Helper()
	for _, one := range statements {
		_, err := m.pool.Exec(m.Context(), one)
		m.must(err)
	}
}

// costs makes the calls that a replica makes, and returns the average cost of each call, by name.
func (m *meter) costs(round string) map[string]cost {
	m.Helper()
	const n = 20
	ctx := m.Context()
	conversation := func(i int) chat.Conversation {
		return chat.Conversation{Endpoint: "tg", Chat: chat.ChatID(fmt.Sprint(round, i))}
	}
	accept := func(i int, id chat.MessageID) error {
		c := conversation(i)
		_, err := m.Accept(ctx, c, chat.Inbound{ID: id, To: chat.Target{Chat: c.Chat}, Text: "text", Resume: "cursor"})
		return err
	}
	take := func(int) error {
		m.call++
		_, err := m.Take(ctx, m.call, 64)
		return err
	}
	turn := func(i int) string { return fmt.Sprint(round, i) }
	costs := map[string]cost{
		"Renew": m.of(n, func(int) error {
			_, err := m.Renew(ctx, chat.Replica{Endpoints: []chat.EndpointID{"tg"}})
			return err
		}),
		"Receive": m.of(n, func(int) error {
			_, err := m.Receive(ctx, "tg")
			return err
		}),
		"Share": m.of(n, func(int) error {
			return m.Share(ctx, "tg", func([]chat.Claim) []chat.Claim {
				return []chat.Claim{{Ops: chat.OpAll, Window: 1, Count: 30, Share: 30}}
			})
		}),
		"Take without work":        m.of(n, take),
		"Accept in a new chat":     m.of(n, func(i int) error { return accept(i, "1") }),
		"Accept in a chat in use":  m.of(n, func(i int) error { return accept(i, "2") }),
		"Take with forty messages": m.of(1, take),
		"Begin": m.of(n, func(i int) error {
			c := conversation(i)
			return m.Begin(ctx, chat.Turn{ID: turn(i), Conversation: c, To: chat.Target{Chat: c.Chat}, Messages: []chat.Inbound{{ID: "1"}, {ID: "2"}}})
		}),
		"Record": m.of(n, func(i int) error { return m.Record(ctx, turn(i), chat.Part{State: chat.PartStands, Text: "answer"}) }),
		"Decide": m.of(n, func(i int) error {
			return m.Decide(ctx, turn(i), chat.Decision{Growth: chat.Growth{History: [][]byte{[]byte("q"), []byte("a")}, Usage: []chat.Usage{{Calls: 1}}}})
		}),
		"End":  m.of(n, func(i int) error { return m.End(ctx, turn(i), chat.Growth{}) }),
		"Free": m.of(n, func(i int) error { return m.Free(ctx, false, conversation(i)) }),
	}
	return costs
}

// The cost of a call must not grow with the number of conversations, of finished turns or of finished messages.
func TestPostgreSQLCallsAreFlat(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, false)
	_, dsn := server.Create(t, "")
	p := newProgram(t, dsn)
	m := newMeter(p)
	m.costs("prepared")
	small := m.costs("small")
	m.fill(
		"INSERT INTO conversation (endpoint, chat, thread) SELECT 'tg', 'c' || i, '' FROM generate_series(1, 10000) i",
		"INSERT INTO chat (endpoint, chat, owner) SELECT 'tg', 'c' || i, 1 FROM generate_series(1, 50) i",
		`INSERT INTO turn (id, conversation, to_chat, to_thread, to_kind, reply_to, state, person, replaces, accepted_at, begun_at, ended_at)
		SELECT 't' || i, c.id, c.chat, '', 0, '', 'done', 'u', '', now(), now(), now()
		FROM generate_series(1, 100000) i JOIN conversation c ON c.chat = 'c' || (1 + i % 10000)`,
		`INSERT INTO inbox (endpoint, origin, thread, message, conversation, person, accepted_at, done_at)
		SELECT 'tg', c.chat, '', 'm' || i, c.id, '', now(), now() FROM generate_series(1, 100000) i JOIN conversation c ON c.chat = 'c' || (1 + i % 10000)`,
		"ANALYZE")
	m.costs("planned again")
	// Add waiting messages that PostgreSQL's statistics don't include, because ANALYZE has already collected the
	// statistics.
	m.fill(
		`INSERT INTO inbox (endpoint, origin, thread, message, conversation, person, accepted_at, given, body)
		SELECT 'tg', c.chat, '', 'w' || i, c.id, '', now(), 1, '{}' FROM generate_series(1, 5000) i JOIN conversation c ON c.chat = 'c' || (1 + i % 10000)`)
	large := m.costs("large")
	for _, what := range slices.Sorted(maps.Keys(small)) {
		few, many := small[what], large[what]
		t.Logf("%-25s %2d round trips, %4d rows; with 10,000 conversations %2d and %4d", what, few.trips, few.rows, many.trips, many.rows)
		if many.trips != few.trips || many.rows > 2*few.rows+100 {
			t.Errorf("%s: %+v with few conversations, %+v with many", what, few, many)
		}
	}
}
