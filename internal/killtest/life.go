package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopPatience is how long a daemon may take to end in good order.
const stopPatience = 20 * time.Second

// daemonConfig is telex's configuration but for its addresses. Previews follow each other as fast as
// the platform's limits let them, so that there are many instants to be killed at.
const daemonConfig = `
models:
  - {name: standin, base_url: "%s/v1", api_key: "%s", model: standin, max_output_tokens: 16000}
streaming: {telegram: {enabled: %t, edit_interval: 0.1}}
conversations: {busy: %s}
access: {default: allow}
texts: {help: "%s"}
platforms:
  telegram: {token: "%s", api_base: "%s"}
admin: {listen: ""}
shutdown_grace: 10s
log: {format: json}
`

// home is where the daemons of one trial live one after the other: their configuration, state and logs.
type home struct{ binary, dir string }

func newHome(binary string, w *world, p plan) (home, error) {
	dir, err := os.MkdirTemp("", "telex-kill-")
	if err != nil {
		return home{}, err
	}
	busy := "interrupt"
	if p.queue {
		busy = "queue"
	}
	text := fmt.Sprintf(daemonConfig, w.modelURL, modelKey, !p.unstreamed, busy, helpText, w.telegram.Token(), w.telegramURL)
	return home{binary, dir}, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600)
}

func (h home) remove() error { return os.RemoveAll(h.dir) }

func (h home) state() string { return filepath.Join(h.dir, "state") }

// place lets a command run there, with nothing of the environment that changes what telex does.
func (h home) place(cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir = h.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "STATE_DIRECTORY=" + h.state()}
	return cmd
}

// check lets telex look at its store once no daemon holds it: it must be sound, and nothing may be
// left to do in it.
func (h home) check(ctx context.Context) error {
	out, err := h.place(exec.CommandContext(ctx, h.binary, "store", "check")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("store check: %w: %s", err, bytes.TrimSpace(out))
	}
	for _, what := range []string{"messages unfinished", "turns unfinished"} {
		_, rest, ok := strings.Cut(string(out), what)
		if fields := strings.Fields(rest); !ok || len(fields) == 0 || fields[0] != "0" {
			return fmt.Errorf("store check: not 0 %s:\n%s", what, bytes.TrimSpace(out))
		}
	}
	return nil
}

// life is one daemon, from exec to its end.
type life struct {
	home    home
	cmd     *exec.Cmd
	log     *os.File
	started time.Time
	exited  chan struct{}

	once   sync.Once
	killed time.Time // zero: it was not
}

// start starts the n-th daemon of a home.
func (h home) start(n int) (*life, error) {
	log, err := os.Create(filepath.Join(h.dir, "log."+strconv.Itoa(n)))
	if err != nil {
		return nil, err
	}
	l := &life{home: h, log: log, exited: make(chan struct{})}
	l.cmd = h.place(exec.Command(h.binary, "run", "--config", "config.yaml")) // ended by kill or stop
	l.cmd.Stderr = log
	l.started = time.Now()
	if err := l.cmd.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	go func() {
		defer close(l.exited)
		_ = l.cmd.Wait() // how it ended is in ProcessState
	}()
	return l, nil
}

// kill ends the daemon at this instant, as the loss of power does, and waits until it is gone. All but
// the first call do nothing.
func (l *life) kill() {
	l.once.Do(func() {
		l.killed = time.Now()
		_ = l.cmd.Process.Kill() // has it ended by itself, that is seen from its state
		<-l.exited
	})
}

// stop ends the daemon in good order.
func (l *life) stop() error {
	err := l.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-l.exited:
	case <-time.After(stopPatience):
		l.kill()
		return errors.New("the daemon does not stop")
	}
	return errors.Join(err, l.sound())
}

// sound is nil unless the daemon ended by itself in bad order.
func (l *life) sound() error {
	status, ok := l.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if l.cmd.ProcessState.Success() || ok && status.Signal() == syscall.SIGKILL {
		return nil
	}
	log, err := os.ReadFile(l.log.Name())
	lines := bytes.SplitAfter(log, []byte("\n"))
	return errors.Join(err, fmt.Errorf("the daemon ended with %v; the end of its log:\n%s",
		l.cmd.ProcessState, bytes.Join(lines[max(0, len(lines)-10):], nil)))
}
