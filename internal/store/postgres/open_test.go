//go:build postgres

package postgres

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"telex/internal/store"
	"telex/internal/store/pgtest"
)

// The error for an invalid URL must say what is wrong with the URL, but must not contain the password.
func TestPostgreSQLRefusesParameters(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"mysql://u:hidden-pass@h/d":                                                  errDSN.Error(),
		"postgres://u:hidden-pass@h:99999/d":                                         "open store: store.dsn: invalid port",
		"postgres://u:hidden-pass@h/d?sslmode=maybe":                                 "open store: store.dsn: failed to configure TLS (sslmode is invalid)",
		"postgres://u:hidden-pass@h/d?sslmode=verify-full&sslrootcert=/nowhere/ca":   "open store: store.dsn: failed to configure TLS (unable to read CA file: open /nowhere/ca: no such file or directory)",
		"postgres://u:hidden-pass@h/d?pool_max_conns=0":                              "open store: store.dsn: pool_max_conns too small",
		"postgres://u@h/d?password=hidden-pass&sslmode=disable&connect_timeout=soon": "open store: store.dsn: invalid connect_timeout",
	} {
		_, err := Open(t.Context(), Options{DSN: dsn})
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: got %v, want %s", dsn, err, want)
		}
	}
}

// An error of the database must be on one line, even if the driver tried several hosts.
func TestPostgreSQLErrorsAreOneLine(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, false)
	name, dsn := server.Create(t, "")
	_, err := Open(t.Context(), Options{DSN: strings.Replace(strings.Replace(dsn, "@", "@127.0.0.1:1,", 1), "/"+name, "/nothing", 1)})
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "createdb") {
		t.Errorf("got %v", err)
	}
	if want := "database nothing at 127.0.0.1:1, 127.0.0.1:"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A database without tables must be reported as empty, not as a database of an older telex. A database of another
// program must be refused and not changed.
func TestPostgreSQLEmptyAndForeign(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, false)
	_, dsn := server.Create(t, "")
	p := newProgram(t, dsn)
	_, err := p.open(false)
	p.fails(err, store.ErrEmpty, "is empty: run telex store migrate or telex run, which make its tables")
	if errors.Is(err, store.ErrOlder) {
		t.Errorf("got %v", err)
	}

	name, dsn := server.Create(t, "") // another program, which also uses goose, has made this database
	server.Exec(t, name, "CREATE TABLE goose_db_version (version_id bigint, is_applied bool)", "INSERT INTO goose_db_version VALUES (0, true), (7, true)")
	for _, migrate := range []bool{false, true} {
		_, err = newProgram(t, dsn).open(migrate)
		p.fails(err, store.ErrForeign, "give telex a database of its own")
	}

	name, dsn = server.Create(t, "") // in this database, another program has made a table with the name of one of telex's tables
	server.Exec(t, name, "CREATE TABLE turn (id bigint)")
	_, err = newProgram(t, dsn).open(true)
	p.fails(err, store.ErrForeign, "has a table turn that telex did not make")
	if tables := server.Query(t, name, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'"); !slices.Equal(tables, []string{"turn"}) {
		t.Errorf("the database has the tables %q now", tables)
	}
}

// Check must report a server setting that may lose data as a risk, not as damage.
func TestPostgreSQLAtRisk(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, true)
	name, dsn := server.Create(t, "")
	p := newProgram(t, dsn)
	s, err := p.open(true)
	p.must(err)
	p.must(s.Close())
	check := func(dsn string, risks ...string) {
		t.Helper()
		s, err := newProgram(t, dsn).open(false)
		p.must(err)
		rep, err := s.Check(t.Context())
		p.must(errors.Join(err, s.Close()))
		if len(rep.Problems) > 0 || !slices.Equal(rep.Risks, risks) {
			t.Errorf("got the problems %q and the risks %q, want the risks %q", rep.Problems, rep.Risks, risks)
		}
	}
	check(dsn)
	server.Exec(t, name, "CREATE ROLE reader LOGIN", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader", "ALTER DATABASE "+name+" SET synchronous_commit = off")
	const off = "synchronous_commit is off: a crash of the server loses messages that were accepted"
	check(dsn, off)
	u, err := url.Parse(dsn)
	p.must(err)
	password, _ := u.User.Password()
	server.Exec(t, name, "ALTER ROLE reader PASSWORD '"+password+"'")
	u.User = url.UserPassword("reader", password)
	check(u.String(), off, "the user reader may not change the table admission, and others: make it the owner of the database and its tables")
}
