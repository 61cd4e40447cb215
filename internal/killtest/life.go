package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"telex/internal/outside"
)

// daemonConfig is the part of telex's configuration that is the same in all trials. Previews are as frequent as the
// platform's limits allow, so that the kills interrupt many of them.
const daemonConfig = `
streaming: {telegram: {enabled: %t, edit_interval: %g}}
conversations: {busy: %s}
texts: {help: "%s"}
agent: {context: false, system_prompt: "%s"}
%s
`

// settings are the parts of the configuration that a reload changes.
type settings struct {
	interval float64 // seconds between two edits
	prompt   string  // the system prompt
	more     string  // further sections of the configuration
}

// initialSettings returns the settings of a daemon before any reload.
func initialSettings() settings {
	return settings{interval: 0.1, prompt: "You are a bot that is killed now and then."}
}

// home is the directory of one trial. The daemons of the trial, which run one after the other, keep their
// configuration, state and logs in this directory.
type home struct{ binary, dir string }

func newHome(binary string, w *world, p plan) (home, error) {
	dir, err := os.MkdirTemp("", "telex-kill-")
	if err != nil {
		return home{}, err
	}
	h := home{binary, dir}
	return h, h.configure(w, p, initialSettings())
}

// configure writes the configuration.
func (h home) configure(w *world, p plan, s settings) error {
	busy := "interrupt"
	if p.queue {
		busy = "queue"
	}
	text := w.Config(modelKey, fmt.Sprintf(daemonConfig, !p.unstreamed, s.interval, busy, helpText, s.prompt, s.more))
	return os.WriteFile(filepath.Join(h.dir, "config.yaml"), []byte(text), 0o600)
}

// reload makes the running daemon read its configuration again.
func (h home) reload(ctx context.Context) error {
	out, err := h.place(exec.CommandContext(ctx, h.binary, "reload")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("telex reload: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

func (h home) remove() error { return os.RemoveAll(h.dir) }

func (h home) state() string { return filepath.Join(h.dir, "state") }

func (h home) place(cmd *exec.Cmd) *exec.Cmd { return outside.Place(cmd, h.dir, h.state()) }

// check runs the command "telex store check" after the daemon has ended. check returns an error if the store is damaged
// or contains unfinished work.
func (h home) check(ctx context.Context) error {
	return checkStore(h.place(exec.CommandContext(ctx, h.binary, "store", "check")))
}

// checkStore runs cmd, a command "telex store check", and examines its output.
func checkStore(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
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

// life is one process of the daemon, from its start to its end.
type life struct {
	*outside.Process
	home home
}

// start starts the n-th daemon of a trial.
func (h home) start(n int) (*life, error) {
	cmd := h.place(exec.Command(h.binary, "run", "--config", "config.yaml")) // the caller must call Kill or Stop
	p, err := outside.Start(cmd, filepath.Join(h.dir, "log."+strconv.Itoa(n)))
	return &life{p, h}, err
}
