package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// pairing is an access section that lets in only people with an approved code.
const pairing = "{default: pair}"

var pairCode = regexp.MustCompile(`\b[0-9A-HJKMNP-TV-Z]{8}\b`)

// command runs telex with the arguments, checks its exit code and returns its output.
func (s state) command(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	p := launch{env: []string{s.env}}.start(t, args...)
	if got := p.exit(patience); got != code {
		t.Errorf("telex %s: exit %d, want %d\nstdout %q\nstderr %q", p.name, got, code, p.stdout, p.stderr)
	}
	return p.stdout.String(), p.stderr.String()
}

// knock makes ada, who has no access, write to the bot. knock returns her pairing code.
func (w *world) knock(n int) string {
	w.t.Helper()
	w.ask("say: let me in")
	w.await("a code", func() bool { return len(w.texts(ada)) == n })
	code := pairCode.FindString(w.texts(ada)[n-1])
	if code == "" {
		w.t.Fatalf("ada sees %q, want a code", w.texts(ada))
	}
	return code
}

// sockets returns the sockets below a directory.
func sockets(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type() == fs.ModeSocket {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestPairing(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprintf("the daemon runs %t", running), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, telegram.Options{}, openai.Options{})
			s := newState(t)
			daemon := w.daemon(sections{access: pairing}, s.env)
			code := w.knock(1)
			if !running {
				daemon.stop()
			}
			stdout, stderr := s.command(t, exitDone, "pair", "list")
			wantText(t, "the list", stdout, "CODE", code+"  telegram:user:1001  Ada", "0s\n")
			if stderr != "" || strings.Contains(stdout, "LET IN") {
				t.Errorf("stdout %q, stderr %q, want who waits alone", stdout, stderr)
			}
			_, stderr = s.command(t, exitFailed, "pair", "approve", "00000000")
			wantText(t, "stderr", stderr, "telex: the code is unknown or has expired\n")
			stdout, _ = s.command(t, exitDone, "pair", "approve", strings.ToLower(code))
			if want := "telegram:user:1001 (Ada) now has access.\n"; stdout != want {
				t.Errorf("approve: got %q, want %q", stdout, want)
			}
			if !running {
				daemon = w.daemon(sections{access: pairing}, s.env)
			}
			w.ask("say: thank you")
			daemon.awaitLog("turn ended", 1)
			if got := w.texts(ada); got[len(got)-1] != "thank you" {
				t.Errorf("ada sees %q, want an answer", got)
			}
			if !running {
				daemon.stop()
			}
			var list struct {
				Waiting  []any
				Admitted []struct{ Person, Name, By, At string }
			}
			stdout, _ = s.command(t, exitDone, "pair", "list", "--json")
			if err := json.Unmarshal([]byte(stdout), &list); err != nil || len(list.Waiting) != 0 || len(list.Admitted) != 1 ||
				list.Admitted[0].Person != "telegram:user:1001" || list.Admitted[0].By != "operator" {
				t.Errorf("got %s, %v, want ada let in by the operator", stdout, err)
			}
			stdout, _ = s.command(t, exitDone, "pair", "list")
			wantText(t, "the list", stdout, "LET IN", "telegram:user:1001  Ada   operator  ")
			stdout, _ = s.command(t, exitDone, "pair", "revoke", "telegram:user:1001")
			if want := "telegram:user:1001 no longer has access.\n"; stdout != want {
				t.Errorf("revoke: got %q, want %q", stdout, want)
			}
			_, stderr = s.command(t, exitFailed, "pair", "revoke", "telegram:user:1001")
			wantText(t, "stderr", stderr, "nobody with this id got access by a code", "remove them there")
			if !running {
				daemon = w.daemon(sections{access: pairing}, s.env)
			}
			w.knock(len(w.texts(ada)) + 1) // knock returns only if ada gets a code, which shows that she has no access again
			if n := len(w.model.Requests()); n != 1 {
				t.Errorf("the model was asked %d times, want once", n)
			}
			daemon.stop()
		})
	}
}

// An operator can list, show and delete a person's conversation, both while a daemon runs and while none runs.
func TestSessions(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprintf("the daemon runs %t", running), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, telegram.Options{}, openai.Options{})
			s := newState(t)
			daemon := w.daemon(sections{}, s.env)
			const evil = "say: \u009b31m end" // Telegram itself removes other control characters, but not this one
			w.ask(evil)
			daemon.awaitLog("turn ended", 1)
			if !running {
				daemon.stop()
			}
			stdout, stderr := s.command(t, exitDone, "sessions", "list")
			wantText(t, "the list", stdout, "CONVERSATION   MESSAGES", "telegram:1001  2 ")
			if stderr != "" {
				t.Errorf("stderr %q, want nothing", stderr)
			}
			var list []struct {
				Conversation string
				Messages     int
				Tokens       int
				Summarized   bool
			}
			stdout, _ = s.command(t, exitDone, "sessions", "list", "--json")
			if err := json.Unmarshal([]byte(stdout), &list); err != nil || len(list) != 1 ||
				list[0].Conversation != "telegram:1001" || list[0].Messages != 2 || list[0].Tokens == 0 || list[0].Summarized {
				t.Errorf("got %s, %v, want one conversation with two messages", stdout, err)
			}
			stdout, _ = s.command(t, exitDone, "sessions", "show", "telegram:1001")
			wantText(t, "what was said", stdout, " user telegram:user:1001]\nsay: 31m end\n", " assistant]\n31m end\n")
			if strings.Contains(stdout, "\u009b") {
				t.Errorf("what was said can command a terminal: %q", stdout)
			}
			stdout, _ = s.command(t, exitDone, "sessions", "show", "telegram:1001", "--json")
			var shown struct {
				Messages []struct{ Role, Person, Text string }
			}
			if err := json.Unmarshal([]byte(stdout), &shown); err != nil || len(shown.Messages) != 2 || shown.Messages[0].Text != evil ||
				strings.Contains(stdout, "\u009b") {
				t.Errorf("got %s, %v, want what was said as it is", stdout, err)
			}
			stdout, _ = s.command(t, exitDone, "sessions", "delete", "telegram:1001")
			if want := "telegram:1001: 2 messages deleted.\n"; stdout != want {
				t.Errorf("delete: got %q, want %q", stdout, want)
			}
			for _, args := range [][]string{{"show", "telegram:1001"}, {"delete", "telegram:1001"}, {"delete", "elsewhere:5:6"}} {
				_, stderr = s.command(t, exitFailed, append([]string{"sessions"}, args...)...)
				wantText(t, "stderr", stderr, "telex: unknown conversation "+args[1])
			}
			stdout, stderr = s.command(t, exitDone, "sessions", "list")
			if stdout != "" || stderr != "No conversation is stored yet.\n" {
				t.Errorf("stdout %q, stderr %q, want a remark alone", stdout, stderr)
			}
			if !running {
				daemon = w.daemon(sections{}, s.env)
			}
			w.ask("history:")
			daemon.awaitLog("turn ended", 1)
			w.await("what the model was told", func() bool { return len(w.texts(ada)) == 2 })
			if got := w.texts(ada)[1]; strings.Contains(got, "end") {
				t.Errorf("the model was told %q, which was deleted", got)
			}
			daemon.stop()
		})
	}
}

// If an operator deletes a person, telex deletes the person's messages in all conversations, ends the person's running
// turns, and revokes the person's access.
func TestDeletePerson(t *testing.T) {
	t.Parallel()
	const group, bob = -2002, 1002
	w := newWorld(t, telegram.Options{}, openai.Options{})
	s := newState(t)
	daemon := w.daemon(sections{access: `{default: pair, allow: ["telegram:chat:-2002", "telegram:user:1002"]}`}, s.env)
	s.command(t, exitDone, "pair", "approve", w.knock(1))
	w.telegram.Say(telegram.Incoming{Chat: group, User: ada, Text: mentionsUs + "say: ada in the group"})
	daemon.awaitLog("turn ended", 1)
	w.telegram.Say(telegram.Incoming{Chat: group, User: bob, Text: mentionsUs + "say: bob in the group"})
	daemon.awaitLog("turn ended", 2)
	w.ask("words: 400")
	w.awaitGrowth(2)

	stdout, _ := s.command(t, exitDone, "sessions", "delete", "--person", "telegram:user:1001")
	wantText(t, "stdout", stdout, "telegram:user:1001: 2 messages deleted; ")
	daemon.awaitLog("turn ended", 3)
	stdout, _ = s.command(t, exitDone, "sessions", "show", "telegram:-2002")
	wantText(t, "the group", stdout, "bob in the group")
	if strings.Contains(stdout, "ada") {
		t.Errorf("the group remembers ada:\n%s", stdout)
	}
	_, stderr := s.command(t, exitFailed, "sessions", "show", "telegram:1001")
	wantText(t, "stderr", stderr, "unknown conversation telegram:1001")
	_, stderr = s.command(t, exitDone, "pair", "list")
	wantText(t, "stderr", stderr, "nobody got access by one")
	w.knock(len(w.texts(ada)) + 1)
	daemon.stop()
	if found := sockets(t, s.dir); len(found) != 0 {
		t.Errorf("the daemon left %v", found)
	}
}

// A killed daemon leaves its socket file behind. A socket file that was left behind must disturb neither a command nor
// the next daemon.
func TestStaleSocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	s := newState(t)
	daemon := w.daemon(sections{access: pairing}, s.env)
	found := sockets(t, s.dir)
	if len(found) != 1 {
		t.Fatalf("got sockets %v, want one", found)
	}
	if st, err := os.Stat(found[0]); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want mode 0600", st, err)
	}
	code := w.knock(1)
	_ = daemon.cmd.Process.Kill()
	daemon.exit(patience)
	if left := sockets(t, s.dir); len(left) != 1 {
		t.Fatalf("got sockets %v, want the one of the killed daemon", left)
	}
	stdout, _ := s.command(t, exitDone, "pair", "list")
	wantText(t, "the list without a daemon", stdout, code)
	daemon = w.daemon(sections{access: pairing}, s.env)
	stdout, _ = s.command(t, exitDone, "pair", "list")
	wantText(t, "the list of the next daemon", stdout, code)
	daemon.stop()
}

// Several daemons share a runtime directory. Each daemon has a socket of its own. A command must reach the daemon that
// uses the same state directory, even if the path is long.
func TestTwoDaemons(t *testing.T) {
	t.Parallel()
	runtime := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	var states [2]state
	var codes [2]string
	for i := range states {
		w := newWorld(t, telegram.Options{}, openai.Options{})
		states[i] = newState(t)
		w.daemon(sections{access: pairing}, states[i].env, "XDG_RUNTIME_DIR="+runtime)
		codes[i] = w.knock(1)
	}
	if found := sockets(t, runtime); len(found) != 2 {
		t.Fatalf("got sockets %v, want two", found)
	}
	for i, s := range states {
		p := launch{env: []string{s.env, "XDG_RUNTIME_DIR=" + runtime}}.start(t, "pair", "list")
		if code := p.exit(patience); code != exitDone {
			t.Errorf("exit %d, want %d", code, exitDone)
		}
		wantText(t, "the list", p.stdout.String(), codes[i])
	}
	// In this case, the daemon uses another runtime directory, so the command can't reach the daemon. The error must say
	// where the command looked for a daemon.
	_, stderr := states[0].command(t, exitFailed, "pair", "list")
	wantText(t, "stderr", stderr, "a daemon runs, but can't be reached by its socket", "XDG_RUNTIME_DIR")
}

// A terminal connects to the running daemon and continues the session that an earlier terminal began.
func TestChatWithDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	s := newState(t)
	config := w.config(sections{})
	daemon := launch{env: []string{s.env}}.start(t, "run", "--config", config)
	daemon.awaitLog("receiving", 1)
	chat := func(question string) string {
		t.Helper()
		p := launch{env: []string{s.env}}.start(t, "chat", "--config", config, question)
		if code := p.exit(patience); code != exitDone {
			t.Fatalf("exit %d: %s", code, p.stderr)
		}
		return p.stdout.String()
	}
	if got := chat("say: hello"); got != "hello\n" {
		t.Errorf("got %q, want the answer", got)
	}
	if got := chat("history:"); !strings.Contains(got, "assistant: hello") {
		t.Errorf("got %q, want a session that goes on", got)
	}
	stdout, _ := s.command(t, exitDone, "sessions", "list")
	wantText(t, "the list", stdout, "cli:main")
	stdout, _ = s.command(t, exitDone, "chat", "say: no file")
	wantText(t, "the answer", stdout, "no file")
	// The terminal must refuse a different configuration, because the daemon would not use it.
	other := w.config(sections{})
	stdout, stderr := s.command(t, exitUsage, "chat", "--config", other, "say: hello")
	wantText(t, "stderr", stderr, "telex: a daemon runs with the configuration "+config+", not with "+other, "leave --config out", "STATE_DIRECTORY")
	if stdout != "" {
		t.Errorf("answered %q", stdout)
	}
	daemon.stop()
}

func TestOperatorUsage(t *testing.T) {
	t.Parallel()
	s := newState(t)
	for _, c := range []struct{ args, says string }{
		{"pair approve", "takes a code"},
		{"pair revoke 1001", "endpoint:user:ID"},
		{"pair aprove X", `Did you mean "telex pair approve"?`},
		{"sesions list", `Did you mean "telex sessions"?`},
		{"sessions show", "takes a conversation"},
		{"sessions show telegram", "endpoint:chat"},
		{"sessions delete", "takes a conversation"},
		{"sessions delete telegram:1 --person telegram:user:1", "not both"},
		{"sessions delete --person telegram:1", "endpoint:user:ID"},
		{"sessions delete --person=", "--person needs a person"},
	} {
		stdout, stderr := s.command(t, exitUsage, strings.Fields(c.args)...)
		if stdout != "" {
			t.Errorf("%s: stdout %q, want nothing", c.args, stdout)
		}
		wantText(t, c.args, stderr, c.says)
	}
	for _, args := range []string{"pair list", "pair approve ABCD1234", "sessions list", "sessions show telegram:1", "sessions delete telegram:1"} {
		_, stderr := s.command(t, exitFailed, strings.Fields(args)...)
		wantText(t, args, stderr, "there is no store at "+s.file)
	}
	if _, err := os.Stat(s.dir); err == nil {
		t.Error("the state directory was made")
	}
}
