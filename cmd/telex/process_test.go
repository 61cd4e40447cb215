package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"telex/internal/store/pgtest"
	"telex/standin/discord"
	"telex/standin/slack"
	"telex/standin/whatsapp"
)

// patience is the maximum time of every wait in these tests. Every step of a test takes much less time, so only a
// failing test waits that long.
const patience = 2 * time.Minute

// poll waits until ok returns true. Tests use poll for conditions outside the test's process, because no signal tells
// the test when such a condition becomes true.
func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	// Poll in real time, since other processes have no virtual time.
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not in time", what)
		}
	}
}

// hasEnded reports whether a process that is not a child of the test has ended.
func hasEnded(pid int) bool { return syscall.Kill(pid, 0) != nil }

// Secrets that the daemons of these tests must never show.
const (
	testToken = "7000000001:AAwholeProcessSecretToken0123456789"
	testKey   = "sk-whole-process-secret-0123456789"
)

// output is what a process wrote to one of its streams.
type output struct {
	mu      sync.Mutex
	buffer  bytes.Buffer
	changed chan struct{} // closed and replaced by every write
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.buffer.Write(p)
}

// String returns everything that was written so far.
func (o *output) String() string {
	text, _ := o.load()
	return text
}

func (o *output) load() (text string, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String(), o.changed
}

// await waits until ok returns true for the output. await returns false if ctx ends first.
func (o *output) await(ctx context.Context, ok func(text string) bool) bool {
	for {
		text, changed := o.load()
		if ok(text) {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// process is telex in a separate process.
type process struct {
	t              *testing.T
	name           string
	cmd            *exec.Cmd
	stdout, stderr *output
	ended          chan struct{}

	how  launch
	args []string
}

// launch says how a process is started.
type launch struct {
	env  []string // additional variables; besides these, the process gets PATH, HOME and hardly any others
	dir  string   // working directory; empty: a new directory
	wrap []string // a command that executes the program with exec
	// program is the path of another build of telex; empty: the test binary.
	program string
	bare    bool // the output may contain the token, as the output of a stand-in does
}

// streamingVariable is the environment variable that enables or disables streaming for endpoints without a setting of
// their own.
const streamingVariable = "TELEX_STREAMING_ENABLED"

// start starts telex with the arguments. At the end of the test the process is killed if it still runs, and its output
// must not contain a secret.
func (l launch) start(t *testing.T, args ...string) *process {
	t.Helper()
	program := l.program
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			t.Fatal(err)
		}
	}
	command := append(append([]string{}, l.wrap...), append([]string{program}, args...)...)
	p := &process{
		t: t, name: strings.Join(args, " "), cmd: exec.Command(command[0], command[1:]...),
		stdout: newOutput(), stderr: newOutput(), ended: make(chan struct{}), how: l, args: args,
	}
	if p.cmd.Dir = l.dir; l.dir == "" {
		p.cmd.Dir = t.TempDir()
	}
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.cmd.Dir, playsProgram + "=1"}
	// CI runs some of the tests again with streamingVariable set.
	for _, name := range []string{streamingVariable, "GORACE"} {
		if value, set := os.LookupEnv(name); set {
			p.cmd.Env = append(p.cmd.Env, name+"="+value)
		}
	}
	p.cmd.Env = append(p.cmd.Env, l.env...)
	if testing.CoverMode() != "" { // without GOCOVERDIR, the child prints a warning about coverage to stderr
		p.cmd.Env = append(p.cmd.Env, "GOCOVERDIR="+t.TempDir())
	}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // ProcessState contains the exit code
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // Kill does nothing if the process has ended
		<-p.ended
		p.checkOutput(l.bare)
	})
	return p
}

// again starts the process's program once more with the same environment.
func (p *process) again() *process {
	p.t.Helper()
	how := p.how
	how.dir = p.cmd.Dir
	return how.start(p.t, p.args...)
}

// checkOutput reports an error if the process wrote a secret or a report of a data race.
func (p *process) checkOutput(bare bool) {
	p.t.Helper()
	for name, text := range map[string]string{"stdout": p.stdout.String(), "stderr": p.stderr.String()} {
		for _, secret := range []string{
			pgtest.Password, testToken, strings.ReplaceAll(testToken, ":", "%3A"), testKey, apiKey,
			discord.DefaultToken, slack.DefaultBotToken, slack.DefaultAppToken, slack.DefaultSigningSecret,
			whatsapp.DefaultToken, whatsapp.DefaultAppSecret, whatsapp.DefaultVerifyToken,
		} {
			if !bare && strings.Contains(text, secret) {
				p.t.Errorf("telex %s: %s holds the secret %s:\n%s", p.name, name, secret, text)
			}
		}
		if strings.Contains(text, "DATA RACE") || strings.Contains(text, "\ngoroutine ") {
			p.t.Errorf("telex %s: %s shows a race or a crash:\n%s", p.name, name, text)
		}
	}
	if p.t.Failed() {
		p.t.Logf("telex %s: stdout:\n%s", p.name, p.stdout)
		p.t.Logf("telex %s: stderr:\n%s", p.name, p.stderr)
	}
}

// signal sends a signal.
func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("signal %v: %v", s, err)
	}
}

// exit waits until the process ends, and returns its exit code.
func (p *process) exit(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(within):
		p.t.Fatalf("telex %s did not end within %v", p.name, within)
	}
	return p.cmd.ProcessState.ExitCode()
}

// running reports whether the process has not ended.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// stop stops a daemon gracefully. If the daemon does not exit successfully, the test fails.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.exit(patience); code != exitDone {
		p.t.Errorf("telex %s exits %d after SIGTERM, want %d", p.name, code, exitDone)
	}
}

// entry is one line of a JSON log.
type entry map[string]any

// text returns an attribute that is a text, or "".
func (e entry) text(key string) string {
	s, _ := e[key].(string)
	return s
}

// log returns the log so far. A line that is not JSON fails the test.
func (p *process) log() []entry {
	p.t.Helper()
	entries, err := entriesOf(p.stderr.String())
	if err != nil {
		p.t.Fatalf("telex %s: log: %v", p.name, err)
	}
	return entries
}

func entriesOf(text string) ([]entry, error) {
	var list []entry
	var errs []error
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			break // the process is still writing the last line
		}
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, e)
	}
	return list, errors.Join(errs...)
}

// logged returns the entries whose message or error contains part.
func (p *process) logged(part string) []entry {
	p.t.Helper()
	return containing(p.log(), part)
}

func containing(list []entry, part string) []entry {
	var found []entry
	for _, e := range list {
		if strings.Contains(e.text("msg"), part) || strings.Contains(e.text("error"), part) {
			found = append(found, e)
		}
	}
	return found
}

// awaitLog waits for n entries whose message or error contains part, and returns them.
func (p *process) awaitLog(part string, n int) []entry {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	var found []entry
	if !p.stderr.await(ctx, func(text string) bool {
		entries, _ := entriesOf(text) // the method log reports lines that are not JSON
		found = containing(entries, part)
		return len(found) >= n
	}) {
		p.t.Fatalf("telex %s: %d log entries with %q, want %d", p.name, len(found), part, n)
	}
	return found
}
