//go:build postgres

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"telex/internal/store/pgtest"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// nextMigration only adds a column. In every change of the schema, the first migration may only add things, so that
// programs of the previous release can continue.
const nextMigration = "-- +goose Up\nALTER TABLE conversation ADD COLUMN next text NOT NULL DEFAULT '';\n"

// buildRelease builds telex as a release with further migrations of the database, and returns the program's path.
func buildRelease(t *testing.T, version string, migrations ...string) string {
	t.Helper()
	dir := t.TempDir()
	folder, err := filepath.Abs("../../internal/store/postgres/migrations")
	if err != nil {
		t.Fatal(err)
	}
	known, err := filepath.Glob(filepath.Join(folder, "*.sql"))
	if err != nil {
		t.Fatal(err)
	}
	replaced := make(map[string]string)
	for i, text := range migrations {
		file := filepath.Join(dir, fmt.Sprintf("%05d_next.sql", len(known)+i+1))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[filepath.Join(folder, filepath.Base(file))] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "telex")
	build := exec.Command("go", "build", "-overlay", list, "-ldflags", "-X main.version="+version, "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// Two daemons are upgraded one after the other to a release with a newer schema, while people talk. During the upgrade,
// both releases use the database. During the upgrade, no answer may stop growing for longer than the usual time between
// two edits plus two seconds.
func TestPostgreSQLRollingUpgrade(t *testing.T) {
	t.Parallel()
	const chats, stood = 6, 1500*time.Millisecond + 2*time.Second // the usual time between two edits on Telegram, and two seconds
	older, newer := buildRelease(t, "1.0.0"), buildRelease(t, "1.1.0", nextMigration)
	server := pgtest.Start(t, true)
	name, dsn := server.Create(t, "")
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 60})
	list := w.replicasOf(older, 2, dsn, sections{})
	schema := func() string {
		return server.Query(t, name, "SELECT max(version_id)::text FROM goose_db_version")[0]
	}
	before := schema()
	for round, r := range list {
		asked := time.Now()
		w.asksAll(chats, round)
		r.signal(syscall.SIGTERM)
		w.says(ada+chats, fmt.Sprintf("say: anybody there in round %d?", round))
		w.await("an answer of the one that stays", func() bool { return complete(w.texts(ada+chats), round+1) })
		if code := r.exit(patience); code != exitDone {
			t.Errorf("exit %d, want %d", code, exitDone)
		}
		r.program = newer
		r.run(t)
		w.await("all answers", func() bool { return w.answered(chats, round) })
		for i := range chats {
			if took := gap(w.replies(int64(ada + i))[round], asked); took > stood {
				t.Errorf("round %d: the answer in chat %d stood still for %v", round, ada+i, took)
			}
		}
		for i, one := range list {
			want := []string{"1.1.0", "1.1.0"}
			if round == 0 {
				want[0] = "1.0.0" // the older replica is listed first, and is not upgraded yet
			}
			poll(t, "both versions", func() bool {
				var got []string
				for _, s := range one.sees(t).Replicas {
					got = append(got, s.Version)
				}
				return slices.Equal(got, want)
			})
			warned := strings.Contains(one.tell(t, exitDone, "doctor"), "warning  replicas: the daemons that share the database have different versions: ")
			if warned != (round == 0) {
				t.Errorf("round %d, replica %d: the doctor warns of two versions: %t", round, i, warned)
			}
		}
	}
	if after := schema(); after == before {
		t.Errorf("the schema is %s after the upgrade, as before", after)
	}
	// The previous release can also use the new schema, so an operator can undo the upgrade.
	list[0].stop()
	list[0].program = older
	list[0].run(t)
	if status, is := probe(t, list[0].admin, "/readyz"); status != http.StatusOK {
		t.Errorf("after the way back: got %d, %+v", status, is)
	}
	list[0].stop()
	list[1].stop()
}
