//go:build postgres

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"telex/internal/store/pgserver"
	"telex/internal/store/pgtest"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// database returns the configuration section of a database. The database's password is in a file.
func database(t *testing.T, dsn string) sections {
	t.Helper()
	file := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(file, []byte(dsn+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return sections{more: fmt.Sprintf("store: {dsn_file: %q}", file)}
}

// The daemon and every command must work with a database in the same way as with a file.
func TestPostgreSQLDaemon(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, true)
	_, dsn := server.Create(t, "")
	w, s := newWorld(t, telegram.Options{}, openai.Options{}), newState(t)
	store := database(t, dsn)
	config := w.config(store)
	run := func(code int, args ...string) (stdout, stderr string) {
		t.Helper()
		p := launch{env: []string{s.env}}.start(t, append(args, "--config", config)...)
		if got := p.exit(patience); got != code {
			t.Errorf("telex %s: exit %d, want %d\nstdout %q\nstderr %q", p.name, got, code, p.stdout, p.stderr)
		}
		return p.stdout.String(), p.stderr.String()
	}
	daemon := launch{env: []string{s.env}}.start(t, "run", "--config", config)
	daemon.awaitLog("receiving", 1)
	w.ask("Explain the tides")
	daemon.awaitLog("turn ended", 1)

	stdout, _ := run(exitDone, "store", "check")
	wantText(t, "stdout of check", stdout, "database test1 at 127.0.0.1:", ": sound\n", "  conversations        1\n", "  messages known       1\n")
	stdout, _ = run(exitDone, "sessions", "list")
	wantText(t, "sessions", stdout, "telegram:1001")
	stdout, _ = run(exitDone, "usage")
	wantText(t, "usage", stdout, "telegram:user:1001", "TOTAL")
	run(exitDone, "pair", "list")
	stdout, _ = run(exitDone, "doctor")
	wantText(t, "doctor", stdout, "ok       store: database test1 at 127.0.0.1:", " is sound; conversations: 1\n")
	stdout, _ = run(exitDone, "store", "migrate")
	wantText(t, "stdout of migrate", stdout, ": schema 2, which is the newest\n")
	_, stderr := run(exitFailed, "store", "backup", filepath.Join(s.dir, "b"))
	wantText(t, "stderr of backup", stderr, "the store is a PostgreSQL database: back it up with pg_dump, such as: pg_dump ")
	_, stderr = run(exitFailed, "store", "restore", filepath.Join(s.dir, "b"))
	wantText(t, "stderr of restore", stderr, "the store is a PostgreSQL database: restore it with pg_restore")
	stdout, _ = run(exitDone, "config", "show")
	wantText(t, "configuration", stdout, "  dsn: postgres://telex@127.0.0.1:")

	server.Exec(t, "test1", "CREATE ROLE reader LOGIN PASSWORD '"+pgserver.Password+"'", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader", "ALTER DATABASE test1 SET synchronous_commit = off")
	stdout, _ = run(exitFailed, "store", "check")
	wantText(t, "stdout of check", stdout, ": intact, but at risk\n  synchronous_commit is off: ", "under PostgreSQL")
	server.Exec(t, "test1", "ALTER DATABASE test1 RESET synchronous_commit")
	reads := launch{env: []string{s.env}}.start(t, "doctor", "--config", w.config(database(t, strings.Replace(dsn, "//telex:", "//reader:", 1))))
	if code := reads.exit(patience); code != exitFailed {
		t.Errorf("doctor: exit %d, want %d", code, exitFailed)
	}
	wantText(t, "doctor", reads.stdout.String(), "problem  store: ", " is at risk: the user reader may not change the table ", "→ see PostgreSQL in docs/operations.md\n")

	daemon.stop()
	stdout, _ = run(exitDone, "store", "migrate")
	wantText(t, "stdout of migrate", stdout, ": schema 2, which is the newest\n")
	stdout, _ = run(exitDone, "sessions", "delete", "telegram:1001")
	wantText(t, "stdout of delete", stdout, "telegram:1001: 2 messages deleted.\n")
	daemon = daemon.again()
	daemon.awaitLog("receiving", 1)
	w.ask("And once more")
	daemon.awaitLog("turn ended", 1)
	daemon.stop()
	if entries, err := filepath.Glob(filepath.Join(s.dir, "telex.db*")); err != nil || len(entries) != 1 || entries[0] != s.file+".lock" {
		t.Errorf("got %v, %v, want the lock and no file of SQLite", entries, err)
	}
	server.Stop(t)
	for _, args := range [][]string{{"store", "check"}, {"sessions", "list"}, {"pair", "list"}, {"pair", "approve", "X"}, {"usage"}, {"store", "migrate"}} {
		_, stderr = run(exitFailed, args...)
		wantText(t, "stderr of "+strings.Join(args, " "), stderr, "telex: ", "open store: database test1 at 127.0.0.1:", "the database can't be reached (failed to connect")
	}
	stdout, _ = run(exitFailed, "doctor")
	wantText(t, "doctor", stdout, "problem  store: open store: database test1 at 127.0.0.1:", "→ start the database; if it runs, check store.dsn and the network connection to it\n")
}

// The database is killed in the middle of answers and is unreachable for a while. People must get every answer once and
// complete, and new messages must wait on the platform.
func TestPostgreSQLKilledInTheMiddleOfAnswers(t *testing.T) {
	t.Parallel()
	const chats = 12
	server := pgtest.Start(t, true)
	_, dsn := server.Create(t, "")
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 60})
	o := database(t, dsn)
	o.admin = fmt.Sprintf("{listen: %q}", freeAddress(t))
	pings, env := watchdog(t)
	daemon := w.daemon(o, append(env, newState(t).env)...)
	say := func(user int64, text string) {
		w.telegram.Say(telegram.Incoming{User: user, FirstName: "Ada", Text: text})
	}
	for round := range 3 {
		for i := range chats {
			say(int64(ada+i), question(i, round))
		}
		w.await("answers under way", func() bool {
			growing := 0
			for i := range chats {
				for _, text := range w.texts(int64(ada + i)) {
					if strings.HasSuffix(text, cursor) {
						growing++
					}
				}
			}
			return growing >= chats/2
		})
		server.Kill(t)
		say(ada+chats+int64(round), "written while the database is away")
		poll(t, "readyz says that the database is away", func() bool {
			status, ready := probe(t, o.admin, "/readyz")
			return status == http.StatusServiceUnavailable && strings.Contains(ready.Store, "the database can't be reached")
		})
		before := pings.Load()
		poll(t, "pings of the watchdog", func() bool { return pings.Load() >= before+2 })
		if status, _ := probe(t, o.admin, "/healthz"); status != http.StatusOK {
			t.Errorf("healthz: got %d, want it alive", status)
		}
		server.Restart(t)
		incomplete := func() (list []string) {
			for i := range chats {
				if texts := w.texts(int64(ada + i)); !complete(texts, round+1) {
					list = append(list, fmt.Sprintf("%d: %q", ada+i, texts))
				}
			}
			if last := ada + chats + int64(round); !complete(w.texts(last), 1) {
				list = append(list, fmt.Sprint(last))
			}
			return list
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("incomplete after round %d: %q", round, incomplete())
			}
		})
		w.await("all answers", func() bool { return len(incomplete()) == 0 })
	}
	poll(t, "ready", func() bool {
		status, _ := probe(t, o.admin, "/readyz")
		return status == http.StatusOK
	})
	daemon.stop()
	for i := range chats {
		w.wantTexts(int64(ada+i), openai.Answer(question(i, 0)), openai.Answer(question(i, 1)), openai.Answer(question(i, 2)))
	}
	// A stopped daemon may leave a turn with a visible answer to the next process, which must search once more for a
	// message whose create had an unknown outcome. A daemon that has stopped must not leave a turn in the state running.
	if left := server.Query(t, "test1", "SELECT id FROM turn WHERE state = 'running'"); len(left) > 0 {
		t.Errorf("unfinished: %v", left)
	}
}

// complete reports whether there are at least n messages and none has a cursor.
func complete(texts []string, n int) bool {
	for _, text := range texts {
		if strings.HasSuffix(text, cursor) {
			return false
		}
	}
	return len(texts) >= n
}

func question(chat, round int) string { return fmt.Sprintf("words: %d", 60+3*chat+round) }

type readiness struct{ Status, Store string }

func probe(t *testing.T, admin, path string) (status int, r readiness) {
	t.Helper()
	_, address, _ := strings.Cut(strings.TrimSuffix(admin, "}"), "listen: ")
	resp, err := http.Get("http://" + strings.Trim(address, `"`) + path)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(body, &r) // Unmarshal may fail, because /healthz answers in plain text
	return resp.StatusCode, r
}

// watchdog acts as the service manager: it counts the daemon's notifications.
func watchdog(t *testing.T) (pings *atomic.Int64, env []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	pings = &atomic.Int64{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for buffer := make([]byte, 4096); ; {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			if strings.Contains(string(buffer[:n]), "WATCHDOG=1") {
				pings.Add(1)
			}
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close() // ends the goroutine
		<-ended
	})
	return pings, []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=1000000"}
}

// A daemon is killed in the middle of answers. The next daemon must complete the answers of the killed daemon, although
// PostgreSQL may not have noticed the kill.
func TestPostgreSQLDaemonKilled(t *testing.T) {
	t.Parallel()
	const chats = 5
	server := pgtest.Start(t, true)
	_, dsn := server.Create(t, "")
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 60})
	daemon := w.daemon(database(t, dsn), newState(t).env)
	for i := range chats {
		w.telegram.Say(telegram.Incoming{User: int64(ada + i), FirstName: "Ada", Text: question(i, 0)})
	}
	w.await("answers under way", func() bool {
		for i := range chats {
			if len(w.texts(int64(ada+i))) == 0 {
				return false
			}
		}
		return true
	})
	daemon.signal(syscall.SIGKILL)
	<-daemon.ended
	daemon = daemon.again()
	w.await("all answers", func() bool {
		for i := range chats {
			if !complete(w.texts(int64(ada+i)), 1) {
				return false
			}
		}
		return true
	})
	daemon.stop()
	for i := range chats {
		w.wantTexts(int64(ada+i), openai.Answer(question(i, 0)))
	}
}

// If a daemon starts before its database, it must wait for the database.
func TestPostgreSQLAwayAtTheStart(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, true)
	_, dsn := server.Create(t, "")
	server.Stop(t)
	w := newWorld(t, telegram.Options{}, openai.Options{})
	daemon := launch{env: []string{newState(t).env}}.start(t, "run", "--config", w.config(database(t, dsn)))
	daemon.awaitLog("the database can't be reached; trying again until it can", 1)
	server.Restart(t)
	daemon.awaitLog("receiving", 1)
	w.ask("Explain the tides")
	daemon.awaitLog("turn ended", 1)
	daemon.stop()
}

// telex copies the store from a file into a database. After the copy, the daemon must continue with the database.
func TestPostgreSQLCopy(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, true)
	name, dsn := server.Create(t, "")
	w, s := newWorld(t, telegram.Options{}, openai.Options{}), newState(t)
	daemon := w.daemon(sections{}, s.env)
	w.ask("Explain the tides")
	daemon.awaitLog("turn ended", 1)
	daemon.stop()
	config := w.config(database(t, dsn))
	run := func(code int, args ...string) *process {
		t.Helper()
		p := launch{env: []string{s.env}}.start(t, append(args, "--config", config)...)
		if got := p.exit(patience); got != code {
			t.Errorf("telex %s: exit %d, want %d\nstdout %q\nstderr %q", p.name, got, code, p.stdout, p.stderr)
		}
		return p
	}
	run(exitUsage, "store", "copy")
	p := run(exitDone, "store", "copy", "--from", "sqlite")
	wantText(t, "stdout of copy", p.stdout.String(), "conversation     1\n", "entry            2\n", "copied from "+s.file+", every row counted on both sides")
	p = run(exitFailed, "store", "copy", "--from", "sqlite")
	wantText(t, "stderr of copy", p.stderr.String(), "telex: copy store: the database is not empty: it has 1 rows in the table conversation")
	daemon = launch{env: []string{s.env}}.start(t, "run", "--config", config)
	daemon.awaitLog("receiving", 1)
	w.ask("And once more")
	daemon.awaitLog("turn ended", 1)
	daemon.stop()
	if got := server.Query(t, name, "SELECT count(*)::text FROM entry"); got[0] != "4" {
		t.Errorf("got %s entries, want 4", got)
	}
	if got := w.model.Requests(); len(got) != 2 {
		t.Errorf("%d requests", len(got))
	}
}
