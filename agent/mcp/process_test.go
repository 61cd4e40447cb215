package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"telex/agent"
)

func TestChildServes(t *testing.T) {
	t.Parallel()
	config := myself(t, "server")
	config.Trust = true
	c, log := running(t, config)
	echo := find(t, c, "it_echo")
	if !echo.ReadOnly || echo.Show("") != "it: Echo" || echo.Description != "Says it again." {
		t.Errorf("echo is %+v, shown as %q", echo, echo.Show(""))
	}
	if string(echo.Parameters) != `{"properties":{},"type":"object"}` {
		t.Errorf("the schema is %s", echo.Parameters)
	}
	if got := call(t, echo, `{"a":1}`).Text; got != `{"a":1}` {
		t.Errorf("echo: %q", got)
	}
	if _, err := find(t, c, "it_fail").Call(t.Context(), agent.Input{Arguments: "{}"}); err == nil || err.Error() != "the disk of [redacted] is full" {
		t.Errorf("fail: %v", err)
	}
	until(t, "what the child said", func() bool { return strings.Contains(log.String(), "the server begins") })
	if strings.Contains(log.String(), "very-secret-key") {
		t.Error("the log has the key")
	}
}

func TestChildGetsAMinimalEnvironment(t *testing.T) {
	t.Setenv("TELEX_SECRET", "nothing for others")
	t.Setenv("LANG", "C.UTF-8")
	c, _ := running(t, myself(t, "server"))
	var names []string
	for line := range strings.Lines(call(t, find(t, c, "it_env"), `{}`).Text) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "GOCOVERDIR" })
	if want := []string{"HOME", "KEY", "LANG", "PATH", playVar, markName}; !slices.Equal(names, want) {
		t.Errorf("the child has %q, want %q", names, want)
	}
}

func TestConfiguredEnvironmentWins(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	got := environment(map[string]string{"HOME": "/var/empty", "A": "b"}, "x")
	if !slices.Contains(got, "HOME=/var/empty") || slices.Contains(got, "HOME=/home/ada") || !slices.Contains(got, "A=b") {
		t.Errorf("the environment is %q", got)
	}
}

func TestProgressIsReportedInOrder(t *testing.T) {
	t.Parallel()
	c, _ := running(t, myself(t, "server"))
	def := find(t, c, "it_progress")
	for range 20 {
		var steps []string
		out, err := def.Call(t.Context(), agent.Input{Arguments: "{}", Progress: func(s string) { steps = append(steps, s) }})
		if err != nil || out.Text != "done" {
			t.Fatalf("progress: %q, %v", out.Text, err)
		}
		// Progress that arrives after the result is not reported.
		if want := []string{"step 1 (25 %)", "step 2 (50 %)", "step 3 (75 %)"}; !slices.Equal(steps, want[:len(steps)]) {
			t.Fatalf("the steps are %q", steps)
		}
	}
}

func TestCrashFailsTheCallAndTheServerComesBack(t *testing.T) {
	t.Parallel()
	c, log := running(t, myself(t, "server"))
	_, err := find(t, c, "it_crash").Call(t.Context(), agent.Input{Arguments: "{}"})
	if err == nil || !strings.Contains(err.Error(), "whether the call took effect is not known") {
		t.Errorf("crash: %v", err)
	}
	// After the crash, the tools of the server stay listed, and a call waits until the server runs again.
	echo := find(t, c, "it_echo")
	until(t, "an answer", func() bool {
		out, err := echo.Call(t.Context(), agent.Input{Arguments: "{}"})
		return err == nil && out.Text == "{}"
	})
	if !strings.Contains(log.String(), "exit status 2, after saying: ") || !strings.Contains(log.String(), "panic: everything is broken") {
		t.Error("the log does not say how the child ended")
	}
}

func TestToolListChanges(t *testing.T) {
	t.Parallel()
	c, _ := running(t, myself(t, "server"))
	call(t, find(t, c, "it_grow"), `{}`)
	if got := call(t, find(t, c, "it_grown"), `{}`).Text; got != "I am new" {
		t.Errorf("grown: %q", got)
	}
	until(t, "env to go", func() bool {
		return !slices.ContainsFunc(c.Tools(), func(d agent.ToolDef) bool { return d.Name == "it_env" })
	})
}

func TestHangingCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c, _ := running(t, myself(t, "server"))
	hang := find(t, c, "it_hang")
	why := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, why)
	defer cancel()
	if _, err := hang.Call(ctx, agent.Input{Arguments: "{}"}); !errors.Is(err, why) {
		t.Errorf("hang: %v", err)
	}
	call(t, find(t, c, "it_echo"), `{}`) // other calls still work
}

// Each tool has the timeout of its server, because the agent ends a call when the tool's timeout has passed.
func TestToolsHaveTheTimeoutOfTheirServer(t *testing.T) {
	t.Parallel()
	s := myself(t, "server")
	s.Timeout = 7 * time.Second
	c, _ := running(t, s)
	if got := find(t, c, "it_echo").Timeout; got != s.Timeout {
		t.Errorf("the timeout is %v, want %v", got, s.Timeout)
	}
}

func TestRunEndsDuringACall(t *testing.T) {
	t.Parallel()
	log := &said{}
	c, err := New(Options{Servers: []Server{myself(t, "server")}, Log: log.logger()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran, called := make(chan struct{}), make(chan error, 1)
	go func() { defer close(ran); c.Run(ctx) }()
	hang := find(t, c, "it_hang")
	hangs := make(chan string, 1)
	go func() {
		_, err := hang.Call(t.Context(), agent.Input{Arguments: "{}", Progress: func(s string) { hangs <- s }})
		called <- err
	}()
	<-hangs
	cancel()
	<-ran
	if err := <-called; err == nil {
		t.Error("the call outlived the connection")
	}
}

func TestServerWithAnOldProtocolVersion(t *testing.T) {
	t.Parallel()
	config := myself(t, "old")
	s := newServer(config, Options{Log: (&said{}).logger()}, open(config, nil))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.serve(ctx, true)
		done <- err
	}()
	until(t, "the tool", func() bool { return len(s.tools()) == 1 })
	if got := call(t, s.tools()[0], `{}`).Text; got != "hello" {
		t.Errorf("hi: %q", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestChildThatCannotRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		server Server
		want   string
	}{
		{"no such command", Server{Name: "it", Command: "/no/such/command"}, "start /no/such/command"},
		{"ends at once", myself(t, "broken"), "exit status 3, after saying: no such database"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, _ := running(t, tt.server)
			until(t, "the error", func() bool { return strings.Contains(c.Status()[0].Err, tt.want) })
			if len(c.Tools()) > 0 || c.Status()[0].Connected {
				t.Errorf("it is %+v", c.Status())
			}
		})
	}
}

// TestStubbornChildIsKilled kills a child that ignores every signal, and that child's child.
func TestStubbornChildIsKilled(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"stubborn", "mute"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := myself(t, kind)
			pids := filepath.Join(t.TempDir(), "pids")
			s.Env["PIDS"] = pids
			c, err := New(Options{Servers: []Server{s}, Log: (&said{}).logger(), Keeper: keeperCommand()})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ran := make(chan struct{})
			go func() { defer close(ran); c.Run(ctx) }()
			defer func() { cancel(); <-ran }()
			if kind == "stubborn" {
				find(t, c, "it_echo")
			} else {
				until(t, "the child", func() bool { _, err := os.Stat(pids); return err == nil })
			}
			begun := time.Now()
			cancel()
			<-ran
			if took := time.Since(begun); took > 15*exitWait {
				t.Errorf("it took %s to end", took)
			}
			if kind == "mute" {
				return
			}
			raw, err := os.ReadFile(pids)
			if err != nil {
				t.Fatal(err)
			}
			var child, grandchild int
			if _, err := fmt.Sscan(string(raw), &child, &grandchild); err != nil {
				t.Fatal(err)
			}
			for _, pid := range []int{child, grandchild} {
				until(t, "the process to be gone", func() bool { return !alive(pid) })
			}
		})
	}
}

// alive reports whether a process runs. A zombie process does not count as running.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func TestStderrCannotFloodTheLog(t *testing.T) {
	t.Parallel()
	log := &said{}
	l := newLines(log.logger(), newSecrets(Server{Env: map[string]string{"TOKEN": "abcdefghijkl"}}))
	for i := range 10_000 {
		fmt.Fprintf(l, "line %d\r\n", i)
	}
	fmt.Fprintf(l, "%s\n", strings.Repeat("x", 1<<20))
	fmt.Fprintf(l, "token abcd")
	fmt.Fprintf(l, "efghijkl \x1b[31mred") // the line arrives in two pieces, without a line end
	if n := strings.Count(log.String(), "\n"); n > linesAtOnce+2 {
		t.Errorf("%d lines were logged", n)
	}
	if n := cap(l.partial); n > 10*maxLine {
		t.Errorf("%d bytes of a line are kept", n)
	}
	if len(log.String()) > 10_000 {
		t.Errorf("%d bytes were logged", len(log.String()))
	}
	if tail := l.tail(); len(tail) > maxLine || !strings.HasPrefix(tail, "line 9999 / xxx") {
		t.Errorf("the tail is %q", tail)
	}
	l2 := newLines(log.logger(), l.secrets)
	fmt.Fprint(l2, "token abcd")
	fmt.Fprint(l2, "efghijkl \x1b[31mred")
	if tail := l2.tail(); tail != "token [redacted] [31mred" {
		t.Errorf("the tail is %q", tail)
	}
}
