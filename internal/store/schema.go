package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
)

// missingElements describes the tables, columns and indexes that the migrations up to the given version create, but
// that the database db lacks.
func missingElements(ctx context.Context, db *sql.DB, version int64) (problems []string, err error) {
	fresh, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fresh.Close()) }()
	fresh.SetMaxOpenConns(1) // only one connection, because each connection has an in-memory database of its own
	if err := migrateTo(ctx, fresh, slog.New(slog.DiscardHandler), version); err != nil {
		return nil, err
	}
	want, err := schemaOf(ctx, fresh)
	if err != nil {
		return nil, err
	}
	list, err := schemaOf(ctx, db)
	if err != nil {
		return nil, err
	}
	has := make(map[element]bool)
	for _, e := range list {
		has[e] = true
	}
	for _, e := range want {
		if !has[e] && (e.kind == "table" || has[element{kind: "table", name: e.table, table: e.table}]) {
			problems = append(problems, e.String()+" is missing")
		}
	}
	return problems, nil
}

// element is a table, a column or an index of a schema.
type element struct{ kind, name, table string }

// String returns a description of the element.
func (e element) String() string {
	if e.kind == "table" {
		return "table " + e.name
	}
	return e.kind + " " + e.name + " of table " + e.table
}

// schemaOf returns all tables of a database, followed by all columns and all indexes.
func schemaOf(ctx context.Context, db *sql.DB) ([]element, error) {
	var order int
	t := &tx{on: db, ctx: ctx}
	list := rows(t, func(e *element) []any { return []any{&order, &e.kind, &e.name, &e.table} }, `
SELECT 0, 'table', name, name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
UNION ALL
SELECT 1, 'column', c.name, t.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite~_%' ESCAPE '~'
UNION ALL
SELECT 2, 'index', name, tbl_name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
ORDER BY 1, 4, 3`)
	return list, t.err
}
