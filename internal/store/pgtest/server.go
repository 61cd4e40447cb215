package pgtest

import (
	"context"
	"testing"

	"telex/internal/store/pgserver"
)

// Password is the password of the server's database user.
const Password = pgserver.Password

// Server is a running server.
type Server struct{ server *pgserver.Server }

// Start starts a server, which ends with the test. A durable server syncs to the disk, so that the test may kill it;
// other servers run faster.
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

// Kill kills the server's processes with SIGKILL, as if its machine had lost power. It does nothing if the server
// does not run.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	must(t, s.server.Kill())
}

// Stop stops the server as an administrator does: the server ends all connections first.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	must(t, s.server.Stop())
}

// DSN is the connection string of a database.
func (s *Server) DSN(database string) string { return s.server.DSN(database) }

// Create makes a new database and returns its connection string. Unless template is empty, the database is a copy of
// it.
func (s *Server) Create(t testing.TB, template string) (name, dsn string) {
	t.Helper()
	name, dsn, err := s.server.Create(t.Context(), template)
	must(t, err)
	return name, dsn
}

// Exec runs statements in a database. Cleanups of a test may call it, too.
func (s *Server) Exec(t testing.TB, database string, statements ...string) {
	t.Helper()
	must(t, s.server.Exec(context.WithoutCancel(t.Context()), database, statements...))
}

// Query returns the first column of a query's rows, as text.
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
