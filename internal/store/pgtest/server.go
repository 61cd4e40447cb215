package pgtest

import (
	"context"
	"testing"

	"telex/internal/store/pgserver"
)

// Password is the password of the server's database user.
const Password = pgserver.Password

// Server is a PostgreSQL server that runs until its test ends.
type Server struct{ server *pgserver.Server }

// Start starts a server, which runs until the test ends. A durable server syncs to the disk, so that its data survives
// a kill. Other servers don't sync, which is faster.
func Start(t testing.TB, durable bool) *Server {
	t.Helper()
	s, err := pgserver.Start(t.Context(), pgserver.Options{Durable: durable})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Server{s}
}

// Restart starts the server after Kill or Stop, and waits until it answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	must(t, s.server.Restart(t.Context()))
}

// Kill kills all processes of the server with SIGKILL, as if the machine had lost power. If the server does not run,
// Kill does nothing.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	must(t, s.server.Kill())
}

// Stop stops the server as an administrator would: the server first closes all connections.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	must(t, s.server.Stop())
}

// DSN returns the connection string of a database.
func (s *Server) DSN(database string) string { return s.server.DSN(database) }

// Create makes a new database and returns its connection string. If template is not empty, the new database is a copy
// of the database template.
func (s *Server) Create(t testing.TB, template string) (name, dsn string) {
	t.Helper()
	name, dsn, err := s.server.Create(t.Context(), template)
	must(t, err)
	return name, dsn
}

// Exec runs statements in a database. A cleanup function of the test may also call Exec.
func (s *Server) Exec(t testing.TB, database string, statements ...string) {
	t.Helper()
	must(t, s.server.Exec(context.WithoutCancel(t.Context()), database, statements...))
}

// Query runs a query and returns the first column of each row as a string.
func (s *Server) Query(t testing.TB, database, query string) []string {
	t.Helper()
	values, err := s.server.Query(context.WithoutCancel(t.Context()), database, query)
	must(t, err)
	return values
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
