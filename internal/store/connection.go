package store

import (
	"context"
	"database/sql"
	"errors"
)

// connection is a connection to the database file, with its prepared statements. Only one goroutine may use a
// connection.
type connection struct {
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

// connect returns the connection of db, which is a pool of one connection. If connect fails, it closes the pool db. If
// connect succeeds, connection.close closes db.
func connect(ctx context.Context, db *sql.DB) (*connection, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &connection{db: db, conn: conn, stmts: make(map[string]*sql.Stmt)}, nil
}

func (c *connection) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.conn.Close(), c.db.Close())...)
}

// control runs a statement that has no parameters. control ignores the statement's result.
func (c *connection) control(query string) error {
	_, err := c.ExecContext(context.Background(), query)
	return err
}

// ExecContext implements statements. ExecContext ignores the end of ctx, because a statement takes only microseconds,
// and watching ctx would take as long.
func (c *connection) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(context.WithoutCancel(ctx), args...)
}

// QueryContext implements statements. Like ExecContext, QueryContext ignores the end of ctx.
func (c *connection) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(context.WithoutCancel(ctx), args...)
}

func (c *connection) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, err := c.conn.PrepareContext(context.WithoutCancel(ctx), query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = s
	return s, nil
}
