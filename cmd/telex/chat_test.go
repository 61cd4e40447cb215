package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"telex/platforms/terminal/screentest"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// feed runs telex with text on its standard input. feed returns telex's output, its exit code and the number of its writes.
func feed(t *testing.T, env []string, stdin string, args ...string) (stdout, stderr string, writes, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir, cmd.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, playsProgram + "=1"}, env...)
	if testing.CoverMode() != "" {
		cmd.Env = append(cmd.Env, "GOCOVERDIR="+t.TempDir())
	}
	cmd.Stdin = strings.NewReader(stdin)
	var trouble strings.Builder
	cmd.Stderr = &trouble
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for buf := make([]byte, 64<<10); ; {
		n, err := out.Read(buf)
		text.Write(buf[:n])
		if n > 0 {
			writes++
		}
		if err != nil {
			break
		}
	}
	_ = cmd.Wait() // ProcessState contains the exit code
	return text.String(), trouble.String(), writes, cmd.ProcessState.ExitCode()
}

// whole is the maximum number of writes for an answer that does not grow: one for the answer, and one for the line
// break at its end.
const whole = 2

func TestChatPrintsOneAnswer(t *testing.T) {
	t.Parallel()
	want := openai.Answer("hi") + "\n"
	out, trouble, writes, code := feed(t, []string{streamingVariable + "=true"}, "hi\n", "chat", "--demo", "--rate", "200")
	if out != want || code != exitDone || trouble != "" {
		t.Errorf("exit %d, stderr %q, stdout\n%q\nwant\n%q", code, trouble, out, want)
	}
	if writes <= whole {
		t.Errorf("the answer came in %d pieces, want it to grow", writes)
	}
	out, trouble, writes, code = feed(t, []string{streamingVariable + "=false"}, "", "chat", "--demo", "--rate", "5000", "hi")
	if out != want || code != exitDone || trouble != "" || writes > whole {
		t.Errorf("without streaming: exit %d, stderr %q, %d pieces, stdout\n%q", code, trouble, writes, out)
	}
}

func TestChatFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		args     []string
		code     int
		out, err string // the expected stdout, and a part of the expected stderr
	}{
		{"refused", "{{standin status=400}} hi", []string{"--demo"}, exitFailed, "", "isn't available right now"},
		{"breaks off", "{{standin fail=2}} say: one two three", []string{"--demo"}, exitFailed, "one two\n", "isn't available right now"},
		{"nothing asked", " \n", []string{"--demo"}, exitUsage, "", "no question"},
		{"bad session", "hi", []string{"--demo", "--session", "a b"}, exitUsage, "", "not a session name"},
		{"no config", "hi", nil, exitConfig, "", "config"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, trouble, _, code := feed(t, nil, tt.in, append([]string{"chat", "--rate", "400"}, tt.args...)...)
			if code != tt.code || out != tt.out || !strings.Contains(trouble, tt.err) {
				t.Errorf("exit %d, stdout %q, stderr %q; want %d, %q, %q", code, out, trouble, tt.code, tt.out, tt.err)
			}
		})
	}
}

// telex chat works with a configuration without platforms. The setting streaming.cli must have an effect, and a session
// must keep its history, which other sessions must not see.
func TestChatKeepsItsSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	config := writeConfig(t, fmt.Sprintf(
		"models: [{name: main, base_url: %q, api_key: %q, model: standin}]\nstreaming: {cli: false}\nadmin: {listen: \"\"}\n", w.modelURL+"/v1", testKey))
	env := []string{"STATE_DIRECTORY=" + t.TempDir(), streamingVariable + "=true"}
	for _, step := range []struct {
		say, session string
		history      int // number of messages that the model gets, including its instructions and the question
	}{{"say: first", "main", 2}, {"say: second", "main", 4}, {"say: third", "other", 2}, {"say: fourth", "main", 6}} {
		out, trouble, writes, code := feed(t, env, "", "chat", "--config", config, "--session", step.session, step.say)
		if want := strings.TrimPrefix(step.say, "say: ") + "\n"; out != want || code != exitDone || writes > whole {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", step.say, code, out, trouble)
		}
		requests := w.model.Requests()
		var body struct{ Messages []json.RawMessage }
		if err := json.Unmarshal(requests[len(requests)-1].Body, &body); err != nil {
			t.Fatal(err)
		}
		if got := len(body.Messages); got != step.history {
			t.Errorf("%s: the model got %d messages, want %d", step.say, got, step.history)
		}
	}
}

// If a daemon uses the store but can't be reached, telex chat must fail and say what to do.
func TestChatBesideADaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	dir := t.TempDir()
	env := []string{"STATE_DIRECTORY=" + dir}
	w.daemon(sections{}, env...)
	for _, path := range sockets(t, dir) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	out, trouble, _, code := feed(t, env, "", "chat", "--config", w.config(sections{}), "hi")
	if code != exitFailed || out != "" || !strings.Contains(trouble, "in use by another process") || !strings.Contains(trouble, "XDG_RUNTIME_DIR") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out, trouble)
	}
}

// If a person presses Ctrl-C, telex chat stops the answer, and the next process must not continue this answer.
func TestChatAnswerIsInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 40})
	config := writeConfig(t, fmt.Sprintf("models: [{name: main, base_url: %q, api_key: %q, model: standin}]\nadmin: {listen: \"\"}\n", w.modelURL+"/v1", testKey))
	env := []string{"STATE_DIRECTORY=" + t.TempDir(), streamingVariable + "=true"}
	p := launch{env: env}.start(t, "chat", "--config", config, "Explain the tides")
	if !p.stdout.await(t.Context(), func(text string) bool { return len(text) > 40 }) {
		t.Fatal("no answer")
	}
	p.signal(syscall.SIGINT)
	if code := p.exit(patience); code != exitFailed {
		t.Errorf("exit %d, want %d", code, exitFailed)
	}
	if out, all := strings.TrimSpace(p.stdout.String()), openai.Answer("Explain the tides"); !strings.HasPrefix(all, out) || len(out) == len(all) {
		t.Errorf("printed %q, want a part of %q", out, all)
	}
	if out, _, _, code := feed(t, env, "", "chat", "--config", config, "say: next"); out != "next\n" || code != exitDone {
		t.Errorf("then: exit %d, %q", code, out)
	}
	if n := len(w.model.Requests()); n != 2 {
		t.Errorf("the model was asked %d times, want 2", n)
	}
}

// atTerminal starts telex on its own terminal.
func atTerminal(t *testing.T, env []string, args ...string) (*screentest.Screen, *os.File, *exec.Cmd) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, playsProgram + "=1", "TERM=xterm-256color"}, env...)
	if testing.CoverMode() != "" {
		cmd.Env = append(cmd.Env, "GOCOVERDIR="+t.TempDir())
	}
	keyboard, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	screen := screentest.New(t, 80, 24, keyboard, nil)
	drawn := make(chan struct{})
	go func() {
		defer close(drawn)
		_, _ = io.Copy(screen, keyboard) // Copy returns when the process has ended
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // Kill does nothing if the process has ended
		_ = cmd.Wait()
		<-drawn
		_ = keyboard.Close()
	})
	return screen, keyboard, cmd
}

// exits waits for the end of a process at a terminal.
func exits(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
	defer kill.Stop()
	_ = cmd.Wait() // ProcessState contains the exit code
	return cmd.ProcessState.ExitCode()
}

// A person types a question, watches the answer grow, stops it, starts a new conversation, and leaves.
func TestChatAtATerminal(t *testing.T) {
	t.Parallel()
	screen, keyboard, cmd := atTerminal(t, []string{streamingVariable + "=true"}, "chat", "--demo", "--rate", "40")
	press := func(s string) {
		t.Helper()
		if _, err := io.WriteString(keyboard, s); err != nil {
			t.Fatal(err)
		}
	}
	idle := screentest.Has("Ctrl-D leaves")
	screen.Await(t, "the prompt", idle)
	press("say: alpha beta gamma delta\r")
	screen.Await(t, "the answer", func(l []string) bool { return slices.Contains(l, "alpha beta gamma delta") && idle(l) })

	if err := pty.Setsize(keyboard, &pty.Winsize{Cols: 100, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	screen.Resize(100, 30)
	press("Explain the tides\r")
	first := screen.Await(t, "a growing answer", func(l []string) bool { return screentest.Count(l, strings.TrimSpace(cursor)) == 1 })
	screen.Await(t, "its growth", func(l []string) bool { return len(strings.Join(l, "")) > len(strings.Join(first, ""))+40 })
	press("\x03")
	stopped := screen.Await(t, "its end", func(l []string) bool { return idle(l) && screentest.Count(l, strings.TrimSpace(cursor)) == 0 })
	if screentest.Count(stopped, "could not") > 0 {
		t.Errorf("stopping is told as a failure:\n%s", strings.Join(stopped, "\n"))
	}

	press("/new\r")
	screen.Await(t, "the answer to /new", func(l []string) bool { return screentest.Count(l, "New conversation") > 0 && idle(l) })
	press("say: omega\r")
	screen.Await(t, "the last answer", func(l []string) bool { return slices.Contains(l, "omega") && idle(l) })
	press("\x04")
	if code := exits(t, cmd); code != exitDone {
		t.Errorf("exit %d, want %d", code, exitDone)
	}
	end := screen.Await(t, "the end", func(l []string) bool { return screentest.Count(l, "Ctrl-") == 0 })
	for _, line := range []string{"> say: alpha beta gamma delta", "alpha beta gamma delta", "> Explain the tides", "> /new", "> say: omega", "omega"} {
		n := 0
		for _, l := range end {
			if l == line {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%q stands %d times, want once:\n%s", line, n, strings.Join(end, "\n"))
		}
	}
	if screentest.Count(end, strings.TrimSpace(cursor)) != 0 || !screen.CursorShown() {
		t.Errorf("a cursor stays in the text, or the terminal's own is hidden (%t):\n%s", screen.CursorShown(), strings.Join(end, "\n"))
	}
}

// A person attaches files by their paths. The model gets a document as text, and a scan as the file itself.
func TestChatAttaches(t *testing.T) {
	t.Parallel()
	document := func(name string) string {
		path, err := filepath.Abs(filepath.Join("..", "..", "gateway", "attachment", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	screen, keyboard, cmd := atTerminal(t, []string{streamingVariable + "=true"}, "chat", "--demo", "--rate", "400")
	idle := screentest.Has("Ctrl-D leaves")
	screen.Await(t, "the prompt", idle)
	for _, step := range []struct{ press, shows string }{
		{"/attach " + document("nothing.docx") + "\r", "not attached: "},
		{strings.Repeat("\x7f", 300) + "/attach " + document("libreoffice.docx") + "\r", "Attached libreoffice.docx (9 KB)."},
		{"say: Read it.\r", "The tidal range at Saint-Malo reaches 13.5 metres."},
	} {
		if _, err := io.WriteString(keyboard, step.press); err != nil {
			t.Fatal(err)
		}
		screen.Await(t, step.shows, screentest.Has(step.shows))
	}
	screen.Await(t, "the end of the answer", idle)
	if _, err := io.WriteString(keyboard, "\x04"); err != nil {
		t.Fatal(err)
	}
	if code := exits(t, cmd); code != exitDone {
		t.Errorf("exit %d, want %d", code, exitDone)
	}

	out, trouble, _, code := feed(t, nil, "", "chat", "--demo", "--rate", "400", "--attach", document("scan.pdf"), "files:")
	if want := "scan.pdf, application/pdf, 39464 bytes\n"; out != want || code != exitDone || trouble != "" {
		t.Errorf("exit %d, stderr %q, stdout %q, want %q", code, trouble, out, want)
	}
	if out, trouble, _, code := feed(t, nil, "", "chat", "--demo", "--attach", document("nothing.pdf"), "files:"); out != "" || code == exitDone || !strings.Contains(trouble, "not attached") {
		t.Errorf("a file that is not there: exit %d, stderr %q, stdout %q", code, trouble, out)
	}
}

// If a terminal can't be redrawn, telex prints the answer line by line.
func TestChatAtADumbTerminal(t *testing.T) {
	t.Parallel()
	screen, keys, cmd := atTerminal(t, []string{"TERM=dumb"}, "chat", "--demo", "--rate", "400")
	screen.Await(t, "the prompt", func(l []string) bool { return len(l) == 1 && strings.HasPrefix(l[0], ">") })
	for _, word := range []string{"alpha", "omega"} {
		if _, err := io.WriteString(keys, "say: "+word+"\n"); err != nil {
			t.Fatal(err)
		}
		screen.Await(t, word, func(l []string) bool { return slices.Contains(l, word) && l[len(l)-1] == ">" })
	}
	if _, err := io.WriteString(keys, "\x04"); err != nil {
		t.Fatal(err)
	}
	if code := exits(t, cmd); code != exitDone {
		t.Errorf("exit %d, want %d", code, exitDone)
	}
}

// If a person sees the id of an error at the terminal, the log must contain this id.
func TestChatLogsBesideTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	config := writeConfig(t, fmt.Sprintf("models: [{name: main, base_url: %q, api_key: %q, model: standin}]\nadmin: {listen: \"\"}\n", w.modelURL+"/v1", testKey))
	state := t.TempDir()
	screen, keys, cmd := atTerminal(t, []string{"STATE_DIRECTORY=" + state}, "chat", "--config", config)
	screen.Await(t, "the prompt", screentest.Has("Ctrl-D leaves"))
	if _, err := io.WriteString(keys, "{{standin status=400}} hi\r"); err != nil {
		t.Fatal(err)
	}
	lines := screen.Await(t, "the failure", screentest.Has("(error "))
	if _, err := io.WriteString(keys, "\x04"); err != nil {
		t.Fatal(err)
	}
	if code := exits(t, cmd); code != exitDone {
		t.Errorf("exit %d, want %d", code, exitDone)
	}
	_, id, _ := strings.Cut(strings.Join(lines, "\n"), "(error ")
	id, _, _ = strings.Cut(id, ")")
	log, err := os.ReadFile(filepath.Join(state, "chat.log"))
	if err != nil || !strings.Contains(string(log), id) || strings.Contains(string(log), testKey) {
		t.Errorf("%v; the log for %q is\n%s", err, id, log)
	}
}
