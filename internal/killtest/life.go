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

// daemonConfig is what else telex's configuration says. Previews follow each other as fast as the platform's limits
// let them, so that there are many instants to be killed at.
const daemonConfig = `
streaming: {telegram: {enabled: %t, edit_interval: %g}}
conversations: {busy: %s}
texts: {help: "%s"}
agent: {context: false, system_prompt: "%s"}
%s
`

// settings are what a reload changes of the configuration.
type settings struct {
	interval float64 // between two edits, in seconds
	prompt   string  // of the system
	more     string  // further sections
}

// usual are the settings that daemons start with.
func usual() settings {
	return settings{interval: 0.1, prompt: "You are a bot that is killed now and then."}
}

// home is where the daemons of one trial live one after the other: their configuration, state and logs.
type home struct{ binary, dir string }

func newHome(binary string, w *world, p plan) (home, error) {
	dir, err := os.MkdirTemp("", "telex-kill-")
	if err != nil {
		return home{}, err
	}
	h := home{binary, dir}
	return h, h.configure(w, p, usual())
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

// reload lets the daemon read its configuration again.
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
	*outside.Process
	home home
}

// start starts the n-th daemon of a home.
func (h home) start(n int) (*life, error) {
	cmd := h.place(exec.Command(h.binary, "run", "--config", "config.yaml")) // ended by Kill or Stop
	p, err := outside.Start(cmd, filepath.Join(h.dir, "log."+strconv.Itoa(n)))
	return &life{p, h}, err
}
