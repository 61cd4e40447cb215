//go:build !race

package store_test

import (
	"database/sql"
	"maps"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store"
)

// schema returns the tables and indexes of a file.
func schema(t *testing.T, path string) map[string]string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	rows, err := db.QueryContext(t.Context(), "SELECT name, COALESCE(sql, '') FROM sqlite_schema")
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, rows)
	found := map[string]string{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		found[name] = text
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// Opening a store with the schema of any release must migrate the store to the newest schema and keep all its data.
func TestMigrations(t *testing.T) {
	t.Parallel()
	fresh := filepath.Join(t.TempDir(), "telex.db")
	mustClose(t, mustOpen(t, fresh))
	for from := int64(1); from <= store.Latest(); from++ {
		path := filepath.Join(t.TempDir(), "telex.db")
		old(t, path, from)
		r, err := store.OpenReadOnly(t.Context(), store.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if rep, err := r.Check(t.Context()); err != nil || rep.Schema != from || len(rep.Problems) > 0 {
			t.Errorf("schema %d: got %+v, %v, want a sound store that stays as it is", from, rep, err)
		}
		if err := r.Backup(t.Context(), path+".backup"); err != nil {
			t.Error(err)
		}
		mustClose(t, r)

		for _, file := range []string{path, path + ".backup"} {
			f := &fixture{T: t, Store: mustOpen(t, file)}
			checkOldContent(f)
			f.close()
			if got, want := schema(t, file), schema(t, fresh); !maps.Equal(got, want) {
				t.Errorf("from schema %d: got %v, want %v", from, got, want)
			}
		}
	}
}

func checkOldContent(f *fixture) {
	f.Helper()
	c := chat.Conversation{Endpoint: "telegram", Chat: "-100777", Thread: "42"}
	pending, err := f.Pending(f.Context())
	f.must(err)
	want := []chat.Pending{{
		Conversation: c,
		Message: chat.Inbound{
			To: chat.Target{Chat: "-100777", Thread: "42", Kind: chat.Group}, Sender: chat.Sender{ID: "5", Name: "Ada"},
			ID: "11", Resume: "900001", Text: "Wie ist das Wetter?", Addressed: true, Reply: true,
			Attachments: []chat.Attachment{{Name: "a.ogg", MediaType: "audio/ogg", Size: 12, ID: "F1"}},
			At:          time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC),
		},
		Accepted: time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC),
	}}
	if !reflect.DeepEqual(pending, want) {
		f.Errorf("got %+v, want %+v", pending, want)
	}
	known := chat.Conversation{Endpoint: "telegram", Chat: "1234"}
	f.remembers(known, `{"role":"user","text":"hello"}`, `{"role":"assistant","text":"hi"}`)
	if from, err := f.Resume(f.Context(), "telegram"); from.Cursor != "900001" || err != nil {
		f.Errorf("got cursor %q, %v, want 900001", from.Cursor, err)
	}
	if fresh, err := f.Accept(f.Context(), known, message(known, "10")); fresh || err != nil {
		f.Errorf("got fresh %v, %v, want a known message", fresh, err)
	}
	f.begin("t", c, "11")
	f.must(f.Decide(f.Context(), "t", decision("x")))
}
