package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"telex/internal/store"
)

var (
	errDSN    = errors.New("open store: store.dsn is not a valid URL: write postgres://USER:PASSWORD@HOST:5432/DATABASE, with special characters of the password percent-encoded")
	errClosed = errors.New("the store is closed")
	// errMigrating means that a transaction must be repeated, because another process is migrating the schema.
	errMigrating = errors.New("another process is bringing the schema up to date")
)

// wrongDSN returns an error that says why the driver pgx does not accept a DSN. The error that wrongDSN returns
// contains only the reason that pgx gives. The error of pgx itself also quotes the DSN, and pgx does not always find
// and hide the password in it.
func wrongDSN(err error) error {
	e, ok := errors.AsType[*pgconn.ParseConfigError](err)
	if !ok {
		return errDSN
	}
	reason := *e
	reason.ConnString = ""
	text := strings.TrimPrefix(oneLine{&reason}.Error(), "cannot parse ``: ")
	if strings.HasPrefix(text, "failed to parse") { // a reason with this beginning quotes a part of the DSN
		return errDSN
	}
	return fmt.Errorf("open store: store.dsn: %s: correct the URL and its parameters", text)
}

// committed reports whether a transaction failed because its token is already stored. A token that is already stored
// shows that an earlier attempt was committed.
func committed(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.ConstraintName == "operation_pkey"
}

// code returns the SQLSTATE of an error, or "" if the error is not from PostgreSQL.
// https://www.postgresql.org/docs/15/errcodes-appendix.html
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// conflict reports whether a transaction failed only because of another transaction, so that it may be repeated. The
// causes are a serialization failure, a deadlock, a migration, or a foreign key to a row that another transaction has
// deleted or added.
func conflict(err error) bool {
	if errors.Is(err, errMigrating) {
		return true
	}
	switch code(err) {
	case "40001", "40P01", "23503":
		return true
	}
	return false
}

// away reports whether err means that the database can't be reached now.
func away(err error) bool {
	switch c := code(err); {
	case c == "":
		var connecting *pgconn.ConnectError
		return errors.As(err, &connecting) || errors.Is(err, errLost)
	case c[:2] == "08", // SQLSTATE class 08 contains connection exceptions
		c == "57P01", c == "57P02", c == "57P03", c == "57P05", // server stopped, crashed or starting; session idle for too long
		c == "53300",               // too many connections
		c == "25006", c == "25P03": // the server has become a standby; or a transaction was idle for too long
		return true
	}
	return false
}

// oneLine puts the text of an error on one line. The text of a pgx error has one line for each address to which pgx
// tried to connect.
type oneLine struct{ error }

// Error implements error.
func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }

func (e oneLine) Unwrap() error { return e.error }

// explain adds the name of the operation to an error, and a remedy if there is one.
func (s *Store) explain(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	err = oneLine{err}
	switch c := code(err); {
	case errors.Is(err, errClosed), errors.Is(err, store.ErrLocked):
		return fmt.Errorf("%s: %w", what, err)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()) && (!away(err) || errors.Is(err, context.Canceled)):
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	case c == "28P01", c == "28000":
		return fmt.Errorf("%s: %s: %w: check the user and the password of store.dsn, and pg_hba.conf of the server", what, s.name, err)
	case c == "3D000":
		return fmt.Errorf("%s: %s: %w: create it: createdb --encoding=UTF8 --owner=USER DATABASE", what, s.name, err)
	case c == "42501":
		return fmt.Errorf("%s: %s: %w: make the user of store.dsn the owner of the database", what, s.name, err)
	case c == "53100":
		return fmt.Errorf("%s: %s: %w (%w): free some space on the database's server, nothing else is needed", what, s.name, store.ErrFull, err)
	case away(err):
		return fmt.Errorf("%s: %s: %w (%w)", what, s.name, store.ErrAway, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
