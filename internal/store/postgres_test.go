//go:build postgres

package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/store"
	"telex/internal/store/pgtest"
	"telex/internal/store/postgres"
)

var _ gateway.Store = (*postgres.Store)(nil)

// postgresOpener returns an opener for the store in a PostgreSQL database.
func postgresOpener(dsn string) opener {
	return func(ctx context.Context) (gateway.Store, error) {
		s, err := postgres.Open(ctx, postgres.Options{DSN: dsn})
		if err != nil {
			return nil, err // return nil explicitly: a nil *Store in the interface would not be nil
		}
		return s, nil
	}
}

// emptyDatabase creates a database with the newest schema.
func emptyDatabase(t *testing.T, server *pgtest.Server) (name string) {
	t.Helper()
	name, dsn := server.Create(t, "")
	s, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, Migrate: true})
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

func TestPostgreSQLForOperators(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, true) // the server must sync, because Check would report a server without syncs as a risk
	template := emptyDatabase(t, server)
	runOperatorTests(t, func(t *testing.T) (*fixture, kept, *clock) {
		t.Helper()
		name, dsn := server.Create(t, template)
		c := &clock{}
		s, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, Now: c.now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { mustClose(t, s) })
		old := func(c chat.Conversation, entries ...string) error {
			for _, e := range entries {
				server.Exec(t, name,
					fmt.Sprintf("INSERT INTO conversation (endpoint, chat, thread) VALUES ('%s', '%s', '%s') ON CONFLICT DO NOTHING", c.Endpoint, c.Chat, c.Thread),
					fmt.Sprintf("INSERT INTO entry (conversation, turn, person, at, body) SELECT id, '', '', now(), convert_to('%s', 'UTF8') FROM conversation WHERE chat = '%s'",
						strings.ReplaceAll(e, "'", "''"), c.Chat))
			}
			return nil
		}
		return &fixture{T: t, Store: s}, kept{s, old}, c
	})
}

// The test copies an SQLite store into PostgreSQL. The copy must return the same data as the original store.
func TestPostgreSQLCopy(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, true)
	_, dsn := server.Create(t, "")
	f, from, _ := newFixture(t)
	seed(f, from)
	f.must(store.Append(t.Context(), from, private("old"), `{"role":"user"}`, `{"role":"assistant"}`, `{"role":"user"}`))
	f.must(f.Record(t.Context(), f.unfinished().ID, chat.Part{
		State: chat.PartIntended, Text: "a \x00 zero", Source: "s", Plain: "p", Cursor: true, Key: "k", Cut: 9, Tries: 2,
		Spans: []chat.Span{{Kind: "bold", Length: 1}}, Create: &chat.Create{Key: "k"},
	}))
	to, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, Migrate: true})
	f.must(err)
	defer mustClose(t, to)
	daemon, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
	f.must(err)
	defer mustClose(t, daemon)
	_, err = daemon.Register(t.Context(), chat.Replica{Name: "host"})
	f.must(err)
	if _, err := to.Copy(t.Context(), from.Reader); !errors.Is(err, store.ErrLocked) || !strings.HasPrefix(err.Error(), "copy store: database ") {
		t.Errorf("a copy beside a daemon: got %v, want %v, of the copy", err, store.ErrLocked)
	}
	f.must(daemon.Unregister(t.Context()))
	copied, err := to.Copy(t.Context(), from.Reader)
	f.must(err)
	if len(copied) != 17 {
		t.Errorf("got %+v, want every table", copied)
	}
	one, two := answers(f, from), answers(f, to)
	for question, want := range one {
		if got := two[question]; got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", question, got, want)
		}
	}
	if _, err := to.Copy(t.Context(), from.Reader); !errors.Is(err, postgres.ErrNotEmpty) {
		t.Errorf("a second copy: got %v, want %v", err, postgres.ErrNotEmpty)
	}
	// Data that is stored after the copy must come after the copied data.
	g := &fixture{T: t, Store: to}
	g.ask("new", private("old"), "u", growth("new"))
	for _, want := range []int{1, 1, 2, 0} {
		undone, err := to.Undo(t.Context(), private("old"), chat.Turn{})
		f.must(err)
		if len(undone) != want {
			t.Fatalf("undone: got %+v, want %d", undone, want)
		}
	}
}

// answers returns what the store's methods return for the data that a copy must contain.
func answers(f *fixture, s operable) map[string]string {
	f.Helper()
	ctx, list := f.Context(), make(map[string]string)
	note := func(question string, err error, answer ...any) {
		f.Helper()
		f.must(err)
		text, err := json.MarshalIndent(answer, "", " ")
		f.must(err)
		list[question] = string(text)
	}
	pending, err := s.Pending(ctx)
	note("pending", err, pending)
	turns, err := s.Unfinished(ctx)
	for i := range turns {
		turns[i] = plain(turns[i])
	}
	note("unfinished", err, turns)
	sessions, err := s.Sessions(ctx)
	note("sessions", err, sessions)
	for _, i := range sessions {
		session, entries, err := s.Transcript(ctx, i.Conversation)
		for k := range entries {
			entries[k].Turn = "" // ignore the turn, because Copy invents a turn for an entry that has none
		}
		note("transcript of "+i.Conversation.String(), err, session, entries)
	}
	account, err := s.Account(ctx, store.AccountOptions{By: []store.UsageBy{store.ByPerson, store.ByConversation, store.ByModel}})
	note("account", err, account)
	requests, err := s.PairingRequests(ctx)
	note("pairing requests", err, requests)
	admitted, err := s.Admitted(ctx)
	note("admitted", err, admitted)
	moves, err := s.Moves(ctx)
	note("moves", err, moves)
	resume, err := s.Resume(ctx, "tg")
	resume.Received = nil // ignore received messages, because only a store for several processes returns them
	note("resume", err, resume)
	facts, err := s.Facts(ctx, ada())
	note("facts", err, facts)
	blocks, err := s.Blocks(ctx, "tg")
	note("blocks", err, blocks)
	rep, err := s.Check(ctx)
	note("check", err, rep.Problems, rep.Conversations, rep.Entries, rep.Keys, rep.Pending, rep.Unfinished)
	return list
}

func BenchmarkPostgreSQLAccept(b *testing.B) {
	benchmarkPostgres(b, func(s *postgres.Store, n, i int) error {
		c := private(chat.ChatID(fmt.Sprint(n)))
		_, err := s.Accept(b.Context(), c, message(c, chat.MessageID(fmt.Sprint(i))))
		return err
	})
}

func BenchmarkPostgreSQLRecord(b *testing.B) {
	benchmarkPostgres(b, func(s *postgres.Store, n, i int) error {
		return s.Record(b.Context(), fmt.Sprint("turn ", n), chat.Part{State: chat.PartStands, Text: fmt.Sprintf("%2000d", i)})
	})
}

// benchmarkPostgres measures the function do, first in 1 conversation, then in 50 conversations at the same time. The
// server of this benchmark syncs to the disk.
func benchmarkPostgres(b *testing.B, do func(s *postgres.Store, n, i int) error) {
	server := pgtest.Start(b, true)
	_, dsn := server.Create(b, "")
	s, err := postgres.Open(b.Context(), postgres.Options{DSN: dsn, Migrate: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	for n := range 50 {
		if err := s.Begin(b.Context(), turnOf(fmt.Sprint("turn ", n), private(chat.ChatID(fmt.Sprint(n))))); err != nil {
			b.Fatal(err)
		}
	}
	count := 0
	for _, crowd := range []int{1, 50} {
		b.Run(fmt.Sprint(crowd), func(b *testing.B) {
			before := count
			count += b.N
			var working sync.WaitGroup
			for n := range crowd {
				working.Go(func() {
					for i := n; i < b.N; i += crowd {
						if err := do(s, n, before+i); err != nil {
							b.Error(err)
						}
					}
				})
			}
			working.Wait()
		})
	}
}
