package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"telex/internal/chat"
	"telex/internal/store"
)

// ErrNotEmpty means that the database already has rows. Copy copies only into an empty database.
var ErrNotEmpty = errors.New("not empty")

// Copied says how many rows Copy has copied into a table.
type Copied struct {
	Table string
	Rows  int64
}

// Copy copies a whole SQLite store into this store, which must be empty. Copy uses one transaction, and compares the
// numbers of rows in both stores. Copy fails with store.ErrLocked while a replica uses the database.
func (s *Store) Copy(ctx context.Context, from *store.Reader) (copied []Copied, err error) {
	err = from.Export(ctx, func(source store.Tables) error {
		return s.onConnection(ctx, false, func(limited context.Context, conn *pgx.Conn) error {
			copying, cancel := context.WithCancel(context.WithoutCancel(limited)) // a large copy takes longer than callTimeout
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			if err := conn.SendBatch(copying, (&call{alone: true}).begin()).Close(); err != nil {
				return err
			}
			if err = s.unused(copying, conn); err == nil {
				copied, err = copyTables(copying, conn, source)
			}
			if err != nil {
				_, _ = conn.Exec(copying, "ROLLBACK") // if ROLLBACK fails, the pool closes the connection, which also rolls back
				return err
			}
			_, err = conn.Exec(copying, "COMMIT")
			return err
		})
	})
	return copied, s.explain(ctx, "copy store", err)
}

// unused returns an error if a live replica uses the database. While Copy's transaction runs, no replica can register,
// because this transaction excludes all other writing transactions.
func (s *Store) unused(ctx context.Context, conn *pgx.Conn) error {
	var name string
	err := conn.QueryRow(ctx, `SELECT name FROM replica WHERE expires > clock_timestamp() LIMIT 1`).Scan(&name)
	if err == nil {
		return fmt.Errorf("%s is %w (%s): stop it first", s.name, store.ErrLocked, name)
	}
	return orNone(err)
}

func copyTables(ctx context.Context, conn *pgx.Conn, source store.Tables) (copied []Copied, err error) {
	for _, t := range tables() {
		n, err := t.count(ctx, conn)
		if err == nil && n > 0 {
			err = fmt.Errorf("the database is %w: it has %d rows in the table %s; name an empty one in store.dsn", ErrNotEmpty, n, t.name)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, t := range tables() {
		n, err := t.copy(ctx, conn, source)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
		copied = append(copied, Copied{t.name, n})
	}
	for _, give := range []string{giveNobodyTurns, giveNobodyInbox} {
		if _, err := conn.Exec(ctx, give); err != nil {
			return nil, err
		}
	}
	return copied, nil
}

// table describes how the rows of a table in SQLite are converted to rows of a table in PostgreSQL.
type table struct {
	name    string
	from    string   // the table's name in SQLite; empty: the same name as in PostgreSQL
	order   string   // order in which the rows are copied; empty: any order
	numbers bool     // the database assigns increasing ids to the rows of the table
	columns []column // the copied columns
	extra   []string // further columns that are read from SQLite, because the function finish needs them
	// finish computes the PostgreSQL row from the values that were read from SQLite. If finish is nil, the PostgreSQL row
	// consists of the values that were read.
	finish func([]any) ([]any, error)
}

// column describes a copied column: its name in PostgreSQL, its name in SQLite, and the conversion of its values.
type column struct {
	name, from string
	convert    func(any) (any, error) // nil: the values are copied unchanged
}

func same(name string) column          { return column{name, name, nil} }
func named(name, from string) column   { return column{name, from, nil} }
func text(name string) column          { return column{name, name, toText} }
func binary(name string) column        { return column{name, name, toBytes} }
func flag(name string) column          { return column{name, name, toFlag} }
func at(name string) column            { return column{name, name, toTime} }
func perhaps(name, from string) column { return column{name, from, toTimeOrNull} }
func (t table) source() string         { return cmp.Or(t.from, t.name) }

// tables returns the tables in an order in which the rows of a table refer only to rows of earlier tables.
func tables() []table {
	id, conversation, endpoint, person := same("id"), same("conversation"), text("endpoint"), text("person")
	return []table{
		{name: "conversation", numbers: true, columns: []column{id, endpoint, text("chat"), text("thread")}},
		{name: "endpoint", columns: []column{text("name"), text("resume")}},
		{name: "moved", columns: []column{endpoint, text("old_chat"), text("new_chat")}},
		{name: "turn", columns: []column{
			text("id"), conversation, text("to_chat"), text("to_thread"), same("to_kind"), text("reply_to"), text("state"), flag("fenced"),
			flag("stale"), same("runs"), binary("ending"), person, text("replaces"), at("accepted_at"), at("begun_at"), perhaps("ended_at", "ended_at"),
		}},
		{name: "inbox", numbers: true, columns: []column{
			id, endpoint, text("origin"), text("thread"), text("message"), conversation,
			{"person", "body", toSender},
			{"turn", "turn", toTextOrNull},
			{"body", "body", toDocument},
			same("attempts"), at("accepted_at"), perhaps("done_at", "done_at"),
		}},
		{name: "part", columns: []column{
			text("turn"), same("idx"), text("state"), text("ref_chat"), text("ref_thread"), same("ref_kind"), text("ref_id"),
			binary("source"), same("steps"), named("content", "body"),
		}, extra: []string{"create_key", "plain", "spans", "has_cursor", "is_file", "cut", "first_at", "tries", "tried"}, finish: finishPart},
		{name: "step", order: "id", numbers: true, columns: []column{id, text("turn"), text("kind"), text("tool_call"), binary("body")}},
		{name: "session", columns: []column{
			conversation, text("model"), binary("summary"), named("summary_upto", "folded"), named("compactions", "folds"), perhaps("summary_at", "at"),
		}},
		{name: "entry", order: "conversation, id", numbers: true, columns: []column{
			id, conversation, text("turn"), person, binary("body"), at("at"),
		}, finish: nameOldTurns()},
		{name: "usage", numbers: true, columns: []column{
			id, conversation, endpoint, person, text("turn"), text("model"), at("at"), same("prompt"), same("cached"), same("completion"),
			same("reasoning"), same("calls"), flag("estimated"),
		}},
		{name: "consent", columns: []column{conversation, person, text("tool")}},
		{name: "fact", columns: []column{endpoint, person, same("number"), binary("body"), at("at")}},
		{name: "fact_number", columns: []column{endpoint, person, same("newest")}},
		{name: "pairing_request", from: "knocking", columns: []column{endpoint, person, text("name"), text("code"), at("at")}},
		{name: "admission", from: "admitted", columns: []column{endpoint, person, text("name"), text("approved_by"), at("at")}},
		{name: "response", columns: []column{text("id"), endpoint, person, text("previous"), binary("body"), binary("messages"), at("at")}},
		{name: "block", columns: []column{
			endpoint, same("scope"), same("ops"), text("chat"), text("thread"), text("message"), at("until"),
		}},
	}
}

func (t table) count(ctx context.Context, conn *pgx.Conn) (n int64, err error) {
	err = conn.QueryRow(ctx, "SELECT count(*) FROM "+pgx.Identifier{t.name}.Sanitize()).Scan(&n)
	return n, err
}

// copy copies the rows of a table. If the database assigns the ids, new ids will continue after the last id of SQLite.
func (t table) copy(ctx context.Context, conn *pgx.Conn, source store.Tables) (int64, error) {
	var names, from []string
	for _, c := range t.columns {
		names, from = append(names, c.name), append(from, c.from)
	}
	from = append(from, t.extra...)
	query := "SELECT " + strings.Join(from, ", ") + " FROM " + t.source()
	if t.order != "" {
		query += " ORDER BY " + t.order
	}
	next, stop := iter.Pull(source.Rows(len(from), query))
	defer stop()
	n, err := conn.CopyFrom(ctx, pgx.Identifier{t.name}, names, pgx.CopyFromFunc(func() ([]any, error) {
		row, more := next()
		if !more {
			return nil, source.Err()
		}
		return t.converted(row)
	}))
	if err != nil {
		return 0, err
	}
	there, err := t.count(ctx, conn)
	if err != nil {
		return 0, err
	}
	if want := source.Count(t.source()); n != want || there != want || source.Err() != nil {
		return 0, errors.Join(source.Err(), fmt.Errorf("%d rows were read and %d written, of %d", n, there, want))
	}
	if t.numbers {
		// The id of a deleted entry must not be used again, because a summary covers all entries up to a certain id.
		_, err = conn.Exec(ctx, `SELECT setval(pg_get_serial_sequence($1, 'id'), greatest($2::bigint, 1), $2::bigint > 0)`, t.name, source.NewestID(t.source()))
	}
	return n, errors.Join(err, source.Err())
}

func (t table) converted(row []any) (_ []any, err error) {
	for i, c := range t.columns {
		if c.convert != nil {
			if row[i], err = c.convert(row[i]); err != nil {
				return nil, fmt.Errorf("column %s of row %v: %w", c.name, row[0], err)
			}
		}
	}
	if t.finish != nil {
		return t.finish(row)
	}
	return row, nil
}

// str returns a value of SQLite as a string. The SQLite driver may return a text as bytes.
func str(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	s, _ := v.(string) // if v is nil, the result is the empty string
	return s
}

func number(v any) int64 {
	n, _ := v.(int64) // nil becomes 0
	return n
}

func toText(v any) (any, error)  { return cleanText(str(v)), nil }
func toBytes(v any) (any, error) { return []byte(str(v)), nil }
func toFlag(v any) (any, error)  { return number(v) != 0, nil }
func toTime(v any) (any, error)  { return instant(v), nil }

// instant converts milliseconds since 1970 to a time, and 0 to the zero time.
func instant(v any) time.Time {
	if number(v) == 0 {
		return time.Time{}
	}
	return time.UnixMilli(number(v)).UTC()
}

func toTimeOrNull(v any) (any, error) { return orNull(instant(v)), nil }

func toTextOrNull(v any) (any, error) {
	if str(v) == "" {
		return nil, nil
	}
	return toText(v)
}

// toDocument converts a text that contains JSON to a value for a JSON column, and an empty text to NULL.
func toDocument(v any) (any, error) {
	body := []byte(str(v))
	switch {
	case len(body) == 0:
		return nil, nil
	case !json.Valid(body):
		return nil, errors.New("it can't be read; telex store check says what can't")
	}
	return body, nil
}

// toSender converts a message that is stored as JSON to the id of the message's sender.
func toSender(v any) (any, error) {
	var in chat.Inbound
	if str(v) != "" {
		if err := json.Unmarshal([]byte(str(v)), &in); err != nil {
			return nil, err
		}
	}
	return cleanText(string(in.Sender.ID)), nil
}

// finishPart encodes those columns of a part that PostgreSQL does not have as JSON, in the column content.
func finishPart(row []any) ([]any, error) {
	const body = 9 // index of the column content in the row
	extra := row[body+1:]
	p := chat.Part{
		Text: str(row[body]), Key: str(extra[0]), Plain: str(extra[1]), Cursor: number(extra[3]) != 0, File: number(extra[4]) != 0,
		Cut: int(number(extra[5])), First: instant(extra[6]), Tries: int(number(extra[7])),
	}
	for field, in := range map[any]any{&p.Spans: extra[2], &p.Create: extra[8]} {
		if str(in) == "" {
			continue
		}
		if err := json.Unmarshal([]byte(str(in)), field); err != nil {
			return nil, fmt.Errorf("part %v of turn %v: %w", row[1], row[0], err)
		}
	}
	encoded, err := json.Marshal(p)
	row[body] = encoded
	return row[:body+1], err
}

// nameOldTurns invents turn ids for entries that an old version of telex stored without a turn. Each message of a user
// begins a new turn.
func nameOldTurns() func([]any) ([]any, error) {
	const id, conversation, turn, body = 0, 1, 2, 4
	var of any // the conversation to which the invented turn belongs
	var name string
	return func(row []any) ([]any, error) {
		if str(row[turn]) != "" {
			name = ""
			return row, nil
		}
		content, _ := row[body].([]byte) // toBytes has converted this column to bytes
		if of != row[conversation] || name == "" || store.IsQuestion(chat.Entry{Body: content}) {
			of, name = row[conversation], fmt.Sprintf("before turns %d", row[id])
		}
		row[turn] = name
		return row, nil
	}
}
