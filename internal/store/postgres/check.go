package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"telex/internal/chat"
	"telex/internal/store"
)

// These constants are the queries of Check.
const (
	findColumn = `
SELECT EXISTS (SELECT FROM information_schema.columns
    WHERE table_schema = ANY (current_schemas(false)) AND table_name = $1 AND column_name = $2)`
	listInvalidIndexes = `
SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE NOT i.indisvalid AND c.relnamespace = ANY (current_schemas(false)::regnamespace[]) ORDER BY 1`
	listInvalidConstraints = `
SELECT conrelid::regclass || ': ' || conname FROM pg_constraint
WHERE NOT convalidated AND connamespace = ANY (current_schemas(false)::regnamespace[]) ORDER BY 1`
	findUnwritable = `
SELECT current_user::text, min(relname::text), count(*) > 1 FROM pg_class
WHERE relkind = 'r' AND relnamespace = ANY (current_schemas(false)::regnamespace[])
    AND NOT (has_table_privilege(oid, 'INSERT') AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))
HAVING count(*) > 0`
	countAll = `
SELECT (SELECT count(*) FROM conversation), (SELECT count(*) FROM entry), (SELECT count(*) FROM inbox),
    (SELECT count(*) FROM inbox WHERE done_at IS NULL), (SELECT count(*) FROM turn WHERE ended_at IS NULL)`
	listBodies = `SELECT id, body FROM inbox WHERE done_at IS NULL ORDER BY id`
)

// Check looks for errors that PostgreSQL itself does not detect, and counts what is stored. Check does not check the
// pages on the disk, because PostgreSQL has tools for that (initdb --data-checksums, pg_amcheck).
func (s *Store) Check(ctx context.Context) (store.Report, error) {
	rep := store.Report{Path: s.name, Knows: s.knows.newest}
	has, err := s.schema(ctx)
	if err != nil {
		return rep, s.explain(ctx, "check store", err)
	}
	if rep.Schema = has; rep.Schema < rep.Knows {
		return rep, nil
	}
	err = s.view(ctx, "check store", func(t *tx) {
		rep.Problems, rep.Risks = t.problems(), t.risks()
		if len(rep.Problems) > 0 {
			return // if a table or column is missing, the queries that count would fail
		}
		t.first([]any{&rep.Conversations, &rep.Entries, &rep.Keys, &rep.Pending, &rep.Unfinished}, countAll)
		type message struct {
			row  int64
			body []byte
		}
		for _, m := range rows(t, func(m *message) []any { return []any{&m.row, &m.body} }, listBodies) {
			if json.Unmarshal(m.body, new(chat.Inbound)) != nil {
				rep.Problems = append(rep.Problems, fmt.Sprintf("message in row %d of inbox can't be read", m.row))
			}
		}
	})
	return rep, err
}

// problems describes errors of the schema: missing columns, invalid indexes and invalid constraints.
func (t *tx) problems() (list []string) {
	for _, table := range tables() {
		for _, c := range table.columns {
			var there bool
			if t.first([]any{&there}, findColumn, table.name, c.name); !there && t.err == nil {
				list = append(list, fmt.Sprintf("column %s of table %s is missing", c.name, table.name))
			}
		}
	}
	for _, index := range rows(t, value[string], listInvalidIndexes) {
		list = append(list, "index "+index+" is not valid: REINDEX it")
	}
	for _, constraint := range rows(t, value[string], listInvalidConstraints) {
		list = append(list, "constraint "+constraint+" is not validated")
	}
	return list
}

// risks describes server settings with which a crash may lose data, and tables to which the database user may not
// write.
func (t *tx) risks() (list []string) {
	for _, setting := range []string{"fsync", "full_page_writes", "synchronous_commit"} {
		var value string
		if t.first([]any{&value}, `SELECT current_setting($1)`, setting); value == "off" {
			list = append(list, setting+" is off: a crash of the server loses messages that were accepted")
		}
	}
	var user, table string
	var others bool
	if t.first([]any{&user, &table, &others}, findUnwritable) {
		and := ""
		if others {
			and = ", and others"
		}
		list = append(list, fmt.Sprintf("the user %s may not change the table %s%s: make it the owner of the database and its tables", user, table, and))
	}
	return list
}
