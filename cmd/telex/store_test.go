package main

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"telex/internal/store"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// state is a state directory, and the environment variable that names the directory.
type state struct{ dir, file, env string }

func newState(t *testing.T) state {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	return state{dir: dir, file: store.File(dir), env: "STATE_DIRECTORY=" + dir}
}

// made returns a state directory that contains an empty store.
func made(t *testing.T) state {
	t.Helper()
	s := newState(t)
	opened, err := store.Open(t.Context(), store.Options{Path: s.file})
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs "telex store" with the arguments, checks its exit code, and returns its output.
func (s state) run(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	p := launch{env: []string{s.env}}.start(t, append([]string{"store"}, args...)...)
	if got := p.exit(patience); got != code {
		t.Errorf("telex %s: exit %d, want %d\nstdout %q\nstderr %q", p.name, got, code, p.stdout, p.stderr)
	}
	return p.stdout.String(), p.stderr.String()
}

// wantText checks that a text contains every part.
func wantText(t *testing.T, name, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", name, part, text)
		}
	}
}

// If the store is backed up while a daemon uses it, another daemon must be able to use the backup.
func TestStoreBesideDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	s, restored := newState(t), newState(t)
	daemon := w.daemon(sections{}, s.env)
	w.ask("Explain the tides")
	daemon.awaitLog("turn ended", 1)

	stdout, stderr := s.run(t, exitDone, "check")
	wantText(t, "stdout of check", stdout, s.file+": sound\n", "  conversations        1\n", "  messages known       1\n")
	if stderr != "" {
		t.Errorf("stderr of check = %q, want nothing", stderr)
	}
	if err := os.Mkdir(restored.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	stdout, stderr = s.run(t, exitDone, "backup", restored.file)
	if want := restored.file + ": a copy of " + s.file + "\n"; stdout != want || stderr != "" {
		t.Errorf("backup: stdout %q, stderr %q, want %q and nothing", stdout, stderr, want)
	}
	if st, err := os.Stat(restored.file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("backup: got %v, %v, want mode 0600", st, err)
	}
	stdout, _ = restored.run(t, exitDone, "check")
	wantText(t, "stdout of check", stdout, restored.file+": sound\n", "  conversations        1\n")

	daemon.stop()
	daemon = w.daemon(sections{}, restored.env)
	w.ask("And once more")
	daemon.awaitLog("turn ended", 1)
	stdout, _ = restored.run(t, exitDone, "check")
	wantText(t, "stdout of check", stdout, "  conversations        1\n", "  messages known       2\n")
	daemon.stop()
	stdout, _ = s.run(t, exitDone, "check")
	wantText(t, "stdout of check, the daemon gone", stdout, "  messages known       1\n", "  turns unfinished     0\n")
}

// A backup is restored while no daemon runs. After the restore, a daemon must continue with the restored store, and the
// old store must be kept.
func TestStoreRestore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	s := newState(t)
	daemon := w.daemon(sections{}, s.env)
	w.ask("Explain the tides")
	daemon.awaitLog("turn ended", 1)
	backup := filepath.Join(t.TempDir(), "backup.db")
	s.run(t, exitDone, "backup", backup)
	w.ask("And once more")
	daemon.awaitLog("turn ended", 2)

	stdout, stderr := s.run(t, exitFailed, "restore", backup)
	wantText(t, "stderr", stderr, "a daemon runs; stop it first", s.file+" is in use by another process")
	if stdout != "" {
		t.Errorf("stdout %q, want nothing", stdout)
	}
	daemon.stop()
	if err := os.WriteFile(backup+".damaged", []byte(strings.Repeat("text ", 4096)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr = s.run(t, exitFailed, "restore", backup+".damaged")
	wantText(t, "stderr", stderr, "telex: check backup: ", "damaged")
	stdout, _ = s.run(t, exitDone, "restore", backup)
	wantText(t, "stdout", stdout, s.file+": restored from "+backup+"\n", s.file+".before-restore-", ": the old store; ")
	stdout, _ = s.run(t, exitDone, "check")
	wantText(t, "stdout of check", stdout, "  messages known       1\n")
	daemon = w.daemon(sections{}, s.env)
	w.ask("After the restore")
	daemon.awaitLog("turn ended", 1)
	daemon.stop()
	stdout, _ = s.run(t, exitDone, "check")
	wantText(t, "stdout of check", stdout, "  messages known       2\n")
}

// A command that only reads must create no file. If root ran such a command, root would own the new file, and the
// service's user could not open it.
func TestListingMakesNoFile(t *testing.T) {
	t.Parallel()
	s := made(t)
	for _, name := range []string{s.file + ".lock", s.file + "-reserve"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"pair list", "pair list --json", "sessions list", "usage", "store check"} {
		s.command(t, exitDone, strings.Fields(args)...)
		entries, err := os.ReadDir(s.dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("telex %s: got %v, %v, want the store alone", args, entries, err)
		}
	}
}

func TestSecondDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	s := newState(t)
	daemon := w.daemon(sections{}, s.env)
	second := launch{env: []string{s.env}}.start(t, "run", "--config", w.config(sections{}))
	if code := second.exit(patience); code != exitFailed {
		t.Errorf("second daemon: exit %d, want %d", code, exitFailed)
	}
	wantText(t, "stderr of the second daemon", second.stderr.String(),
		s.file+" is in use by another process (pid ", "one telex at a time can use it")
	if !daemon.running() {
		t.Error("the first daemon has ended")
	}
	daemon.stop()
}

func TestStoreBackupOverwritesNothing(t *testing.T) {
	t.Parallel()
	s := made(t)
	taken, there := filepath.Join(t.TempDir(), "backup.db"), []byte("last week's")
	if err := os.WriteFile(taken, there, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{taken, s.file, s.dir} {
		before, _ := os.ReadFile(file) // ReadFile returns nothing for a directory
		stdout, stderr := s.run(t, exitFailed, "backup", file)
		if want := "telex: " + file + " already exists, and a backup overwrites nothing: name another file\n"; stdout != "" || stderr != want {
			t.Errorf("stdout %q, stderr %q, want nothing and %q", stdout, stderr, want)
		}
		if after, _ := os.ReadFile(file); !bytes.Equal(after, before) {
			t.Errorf("%s was changed", file)
		}
	}
	_, stderr := s.run(t, exitFailed, "backup", filepath.Join(s.dir, "missing", "backup.db"))
	wantText(t, "stderr", stderr, "telex: back up store to ", "no such file or directory")
}

func TestStoreMissing(t *testing.T) {
	t.Parallel()
	s := newState(t)
	for _, args := range [][]string{{"check"}, {"backup", filepath.Join(t.TempDir(), "backup.db")}} {
		stdout, stderr := s.run(t, exitFailed, args...)
		want := "telex: there is no store at " + s.file + ": telex run creates it; if the store is elsewhere, set STATE_DIRECTORY to its directory\n"
		if stdout != "" || stderr != want {
			t.Errorf("%v: stdout %q, stderr %q, want nothing and %q", args, stdout, stderr, want)
		}
		if _, err := os.Stat(args[len(args)-1]); err == nil {
			t.Errorf("%v left a file", args)
		}
	}
	if _, err := os.Stat(s.dir); err == nil {
		t.Error("the state directory was made")
	}
}

// If the store is unusable, the daemon must not start, and must leave the store unchanged.
func TestStoreUnusable(t *testing.T) {
	t.Parallel()
	const page = 4096
	patch := func(change func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, file string) {
			t.Helper()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, change(b), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, file string)
		says  string
		found bool // the check finds the damage and reports it on stdout; otherwise the check itself fails and says why on stderr
	}{
		{"empty", patch(func([]byte) []byte { return nil }), ": damaged\n", true},
		{"no database", patch(func([]byte) []byte { return bytes.Repeat([]byte("text "), page) }), ": damaged\n", true},
		{"cut off", patch(func(b []byte) []byte { return b[:2*page] }), ": damaged\n", true},
		{"a page of zeros", patch(func(b []byte) []byte { clear(b[page : 2*page]); return b }), ": damaged\n", true},
		{
			// The application id is at offset 68, https://www.sqlite.org/fileformat.html#the_database_header.
			"of another program", patch(func(b []byte) []byte { clear(b[68:72]); return b }), " is not a store of telex: ", false,
		},
		{"of a newer telex", raiseSchema, " is written by a newer telex (schema 999, ", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := made(t)
			c.spoil(t, s.file)
			before, err := os.ReadFile(s.file)
			if err != nil {
				t.Fatal(err)
			}
			stdout, stderr := s.run(t, exitFailed, "check")
			if !c.found {
				stdout, stderr = stderr, stdout
			}
			wantText(t, "what check says", stdout, s.file+c.says)
			if stderr != "" {
				t.Errorf("on its other stream check says %q, want nothing", stderr)
			}
			copied := filepath.Join(t.TempDir(), "backup.db")
			_, stderr = s.run(t, exitFailed, "backup", copied)
			wantText(t, "stderr of backup", stderr, "telex: open store: "+s.file)
			if _, err := os.Stat(copied); err == nil {
				t.Error("there is a backup")
			}
			daemon := launch{env: []string{s.env}}.start(t, "run", "--config",
				writeConfig(t, goodModels+"platforms: {telegram: {token: \"1:a\", api_base: \"http://127.0.0.1:9\"}}\n"))
			if code := daemon.exit(patience); code != exitFailed {
				t.Errorf("daemon: exit %d, want %d", code, exitFailed)
			}
			wantText(t, "stderr of the daemon", daemon.stderr.String(), "telex: open store: "+s.file)
			if after, _ := os.ReadFile(s.file); !bytes.Equal(after, before) {
				t.Error("the file was changed")
			}
		})
	}
}

// raiseSchema makes a store look as if a newer version of telex had written it.
func raiseSchema(t *testing.T, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestStoreUsage(t *testing.T) {
	t.Parallel()
	s := made(t)
	for _, c := range []struct{ args, stderr string }{
		{"backup", `telex: "telex store backup" takes the name of one new file`},
		{"backup a b", `telex: "telex store backup" takes the name of one new file`},
		{"backup --force a", "telex: unknown flag: --force"},
		{"check telex.db", `telex: unknown command or argument "telex.db" for "telex store check"`},
		{"restore", `telex: "telex store restore" takes the name of one backup`},
		{"restore a b", `telex: "telex store restore" takes the name of one backup`},
	} {
		stdout, stderr := s.run(t, exitUsage, strings.Fields(c.args)...)
		if stdout != "" {
			t.Errorf("%s: stdout %q, want nothing", c.args, stdout)
		}
		wantText(t, "stderr", stderr, c.stderr, "--help' for usage\n")
	}
	stdout, _ := s.run(t, exitDone, "--help")
	wantText(t, "stdout", stdout, "backup ", "check ", "restore ", "STATE_DIRECTORY")
}
