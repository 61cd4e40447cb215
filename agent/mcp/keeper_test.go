//go:build linux

package mcp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// escapes contains shell scripts that act as servers and leave processes behind in different ways. $N is an argument for
// sleep, by which the test finds these processes. cat writes its input to standard error, because a server that echoes its
// input on standard output is ended at once, sometimes before a test has seen its processes.
var escapes = map[string]string{
	"ignores signals and its input": `trap "" HUP INT TERM; while :; do sleep $N; done`,
	"forks":                         `sleep $N & sleep $N & cat >&2`,
	"new session":                   `setsid sleep $N & cat >&2`,
	"new session, and ends":         `setsid sleep $N & sleep 0.3`,
	"double fork":                   `(setsid sh -c "sleep $N & sleep $N &" &); cat >&2`,
	"without environment":           `env -i PATH="$PATH" setsid sleep $N & cat >&2`,
	"without streams":               `setsid sleep $N <&- >&- 2>&- & cat >&2`,
	"stops itself":                  `setsid sleep $N & kill -STOP $$`,
	"kills its keeper":              `setsid sleep $N & sleep 0.3; kill -9 $PPID; sleep $N`,
	"new sessions all the time":     `echo 'setsid sh "$0" "$1" & sleep 0.0$1' >chain; setsid sh chain $N & cat >&2`,
	"new sessions without a pause":  `echo 'setsid sh "$0" "$1" &' >chain; setsid sh chain $N & cat >&2`,
	"forks all the time":            `while :; do sleep $N & sleep 0.02; done`,
}

// left returns the processes whose arguments contain a word.
func left(word string) (found []string) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(raw), word) && alive(number(filepath.Base(filepath.Dir(file)))) {
			found = append(found, file+": "+strings.ReplaceAll(string(raw), "\x00", " "))
		}
	}
	return found
}

// No process of a server survives the server, its connection or the daemon, however the daemon ends.
func TestNoProcessIsLeft(t *testing.T) {
	t.Parallel()
	some := make(chan struct{}, 2) // a limit on concurrent cases, because each starts several processes
	for name, script := range escapes {
		for _, end := range []string{"stopped", "killed"} {
			if name == "kills its keeper" && end == "killed" {
				continue // the keeper and the daemon are both killed, so nobody is left who could end the server's processes
			}
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				some <- struct{}{}
				defer func() { <-some }()
				word := fmt.Sprintf("600%08d", rand.IntN(1e8))
				script := strings.ReplaceAll(script, "$N", word)
				if end == "stopped" {
					underStop(t, script, word)
				} else {
					underKill(t, script, word)
				}
				until(t, "no process to be left", func() bool { return len(left(word)) == 0 })
			})
		}
	}
}

// underStop runs a script as a server of this process, and stops it gracefully.
func underStop(t *testing.T, script, word string) {
	t.Helper()
	c, err := New(Options{
		Servers: []Server{{Name: "it", Command: "sh", Args: []string{"-c", script}, Dir: t.TempDir()}},
		Log:     (&said{}).logger(), Keeper: keeperCommand(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	until(t, "the processes", func() bool {
		return len(left("sleep\x00"+word)) > 0 || strings.Contains(script, "chain") && len(left(word)) > 0
	})
	cancel()
	<-done
}

// underKill runs a script as a server of a separate process, and kills that process.
func underKill(t *testing.T, script, word string) {
	t.Helper()
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command(me, "-c", script)
	daemon.Dir, daemon.Env = t.TempDir(), append(os.Environ(), playVar+"=daemon")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the processes", func() bool {
		return len(left("sleep\x00"+word)) > 0 || strings.Contains(script, "chain") && len(left(word)) > 1
	})
	_ = daemon.Process.Signal(syscall.SIGKILL)
	_ = daemon.Wait() // Wait returns an error, because the daemon was killed
}
