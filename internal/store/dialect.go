package store

import (
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// dialect is all in which two databases differ for the queries of this package: they are written once, in
// query.go, in the SQL that SQLite and PostgreSQL share (upserts, RETURNING, partial indexes).
type dialect struct {
	goose      goose.Dialect
	migrations string // folder of the numbered files, which have the same numbers in every dialect
	numbered   bool   // placeholders are $1, $2, … instead of ?
	forUpdate  string // ends a SELECT that a write in the same transaction depends on
}

// sqlite needs no row locks: a transaction that writes is the only one.
func sqlite() dialect {
	return dialect{goose: goose.DialectSQLite3, migrations: "migrations/sqlite"}
}

// sql turns a query of query.go into the dialect's.
func (d dialect) sql(query string) string {
	query = strings.Replace(query, " /*lock*/", d.forUpdate, 1)
	if !d.numbered {
		return query
	}
	var b strings.Builder
	n := 0
	for _, r := range query {
		if r != '?' {
			b.WriteRune(r)
			continue
		}
		n++
		b.WriteString("$" + strconv.Itoa(n))
	}
	return b.String()
}
