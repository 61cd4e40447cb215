package main

import (
	"database/sql"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// slowAnswer is a question whose answer takes minutes.
const slowAnswer = "{{standin rate=30}} words: 5000"

func TestSignalInTheMiddleOfAnAnswer(t *testing.T) {
	t.Parallel()
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, telegram.Options{}, openai.Options{})
			p := w.daemon(sections{more: "shutdown_grace: 3s"})
			w.ask(slowAnswer)
			w.awaitGrowth(1)
			p.signal(s)
			if code := p.exit(patience); code != exitDone {
				t.Errorf("exit %d, want %d", code, exitDone)
			}
			list := w.replies(ada)
			if len(list) != 1 {
				t.Fatalf("%d messages, want 1", len(list))
			}
			checkSteps(t, list[0], 3)
			checkStopped(t, list[0].Text(), openai.Answer(slowAnswer))
			if r := w.model.Requests()[0]; r.End != openai.EndClientClosed {
				t.Errorf("the request to the model ended with %q, want %q", r.End, openai.EndClientClosed)
			}
		})
	}
}

// A stopping daemon must complete an answer that is nearly complete. If a person writes after the daemon has ended, the
// message waits on the platform, and the next daemon must answer it.
func TestSignalLetsAnAnswerEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{more: "shutdown_grace: 30s"})
	w.ask("{{standin rate=100}} words: 150")
	w.awaitGrowth(1)
	p.signal(syscall.SIGTERM)
	if code := p.exit(patience); code != exitDone {
		t.Errorf("exit %d, want %d", code, exitDone)
	}
	w.wantTexts(ada, openai.Answer("words: 150"))
	w.ask("say: back again")
	if pending := w.telegram.Stats().Pending; pending != 1 {
		t.Errorf("%d updates wait for the next daemon, want 1", pending)
	}
	w.daemon(sections{}).awaitLog("turn ended", 1)
	w.wantTexts(ada, openai.Answer("words: 150"), "back again")
}

func TestIdleDaemonEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{more: "shutdown_grace: 10m"})
	began := time.Now()
	p.stop()
	// A daemon that is told to stop must not wait for the whole grace period, nor for the end of a long poll of 30 s.
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("an idle daemon took %v to end", took)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{more: "shutdown_grace: 10m"})
	w.ask(slowAnswer)
	w.awaitGrowth(1)
	began := time.Now()
	// The test can't see when the daemon has handled the first signal, so it repeats the signal.
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for p.running() && time.Since(began) < patience {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // Signal fails if the process has just ended
		<-again.C
	}
	p.exit(patience)
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		t.Errorf("it is %v, want ended by a signal", p.cmd.ProcessState)
	}
}

// manager imitates systemd for the daemon: it receives the states that a service reports.
// https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
type manager struct {
	t     *testing.T
	path  string
	heard chan string
}

func newManager(t *testing.T) *manager {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify") // the path of t.TempDir would be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	m := &manager{t, filepath.Join(dir, "s"), make(chan string, 1000)}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	go m.listen(conn)
	t.Cleanup(func() {
		if err := errors.Join(conn.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
		for range m.heard { // wait until the method listen has returned
		}
	})
	return m
}

// listen reads until the connection is closed, so that the daemon never waits for the manager.
func (m *manager) listen(conn *net.UnixConn) {
	defer close(m.heard)
	var b [256]byte
	for {
		n, err := conn.Read(b[:])
		if err != nil {
			return
		}
		m.heard <- strings.TrimSpace(string(b[:n]))
	}
}

// hear waits for the next reported state and returns it.
func (m *manager) hear() string {
	m.t.Helper()
	select {
	case state := <-m.heard:
		return state
	case <-time.After(patience):
		m.t.Fatal("nothing was told")
		return ""
	}
}

// awaitReady waits until the daemon reports that it is ready. On a slow machine, the daemon also reports the progress of
// its start.
func (m *manager) awaitReady() {
	m.t.Helper()
	for {
		got := m.hear()
		if got == "READY=1" {
			return
		}
		if !strings.HasPrefix(got, "EXTEND_TIMEOUT_USEC=") && got != "STATUS=" {
			m.t.Fatalf("got %q, want READY=1", got)
		}
	}
}

func TestServiceManagerIsTold(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := launch{
		env: []string{"NOTIFY_SOCKET=" + m.path, "WATCHDOG_USEC=3000000"},
		// The shell replaces itself with the program, so that WATCHDOG_PID is the program's process id.
		wrap: []string{"/bin/sh", "-c", `WATCHDOG_PID=$$ exec "$0" "$@"`},
	}.start(t, "run", "--config", w.config(sections{}))
	m.awaitReady()
	began := time.Now()
	for range 3 {
		if got := m.hear(); got != "WATCHDOG=1" {
			t.Errorf("then it told %q, want WATCHDOG=1", got)
		}
	}
	if took := time.Since(began); took > 3*3*time.Second {
		t.Errorf("three times WATCHDOG=1 took %v, more than the watchdog waits", took)
	}
	w.ask(slowAnswer)
	w.awaitGrowth(1)
	p.signal(syscall.SIGTERM)
	alive, stopping := 0, false
	for !stopping || alive == 0 {
		switch got := m.hear(); {
		case got == "STOPPING=1":
			stopping = true
		case got == "WATCHDOG=1" && stopping:
			alive++ // the daemon must also report that it is alive while it completes its turns
		case got != "WATCHDOG=1":
			t.Fatalf("it told %q", got)
		}
	}
	if code := p.exit(patience); code != exitDone {
		t.Errorf("exit %d, want %d", code, exitDone)
	}
}

// While the store hangs, the daemon must send no keep-alive to systemd's watchdog. When the store works again, the
// daemon must send keep-alives again.
func TestWatchdogWhileTheStoreHangs(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	w := newWorld(t, telegram.Options{}, openai.Options{})
	s := newState(t)
	p := launch{
		env:  []string{s.env, "NOTIFY_SOCKET=" + m.path, "WATCHDOG_USEC=600000"},
		wrap: []string{"/bin/sh", "-c", `WATCHDOG_PID=$$ exec "$0" "$@"`},
	}.start(t, "run", "--config", w.config(sections{}))
	m.awaitReady()
	db, err := sql.Open("sqlite", s.file)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	p.awaitLog("watchdog ping withheld", 1)
	for len(m.heard) > 0 {
		<-m.heard
	}
	select {
	case got := <-m.heard:
		t.Errorf("while the store hangs it told %q", got)
	case <-time.After(2 * time.Second):
	}
	if _, err := db.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := m.hear(); got != "WATCHDOG=1" {
		t.Errorf("then it told %q, want WATCHDOG=1", got)
	}
	p.stop()
}

// If WATCHDOG_PID names another process, the daemon must report nothing to the watchdog.
func TestWatchdogOfAnotherProcess(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := launch{env: []string{"NOTIFY_SOCKET=" + m.path, "WATCHDOG_USEC=300000", "WATCHDOG_PID=1"}}.
		start(t, "run", "--config", w.config(sections{}))
	m.awaitReady()
	w.ask("words: 100")
	p.awaitLog("turn ended", 1)
	p.signal(syscall.SIGTERM)
	if got := m.hear(); got != "STOPPING=1" {
		t.Errorf("then it told %q, want STOPPING=1", got)
	}
	if code := p.exit(patience); code != exitDone {
		t.Errorf("exit %d, want %d", code, exitDone)
	}
}
