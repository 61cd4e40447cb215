package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"telex/standin/openai"
	"telex/standin/telegram"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	platform, model := startStandins(t, "150")
	text := fmt.Sprintf(threeProcesses, model.url, true, platform.url)
	for _, c := range []struct {
		name, text, key string
		code            int
		want            []string
	}{
		{"all is well", text, testKey, exitDone, []string{"ok       endpoint telegram: Telegram is @", "ok       model main: standin began to answer after"}},
		{"a problem", text, "wrong", exitFailed, []string{"problem  model main: auth: HTTP 401", "\n         → put a valid key into api_key of the model main"}},
		{"a wrong configuration", "models: [", testKey, exitConfig, []string{"problem  configuration: ", "c.yaml:1:", "\n         → correct the line"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doctor := launch{env: []string{"BOT_TOKEN=" + testToken, "MODEL_KEY=" + c.key}}.start(t, "doctor", "--config", writeConfig(t, c.text))
			<-doctor.ended
			if code := doctor.cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			if said := doctor.stderr.String(); said != "" {
				t.Errorf("stderr %q, want nothing: the results say it", said)
			}
			out := doctor.stdout.String()
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing in\n%s", want, out)
				}
			}
		})
	}
}

// The doctor detects a second daemon that shares the state directory or the token with the first one.
func TestDoctorFindsASecondDaemon(t *testing.T) {
	t.Parallel()
	w, first, second := newWorld(t, telegram.Options{}, openai.Options{}), newState(t), newState(t)
	path, other := w.config(sections{}), w.config(sections{more: "shutdown_grace: 20s"})
	daemon := launch{env: []string{first.env}}.start(t, "run", "--config", path)
	daemon.awaitLog("receiving", 1)
	out, _ := first.command(t, exitDone, "doctor", "--config", path)
	wantText(t, "stdout", out, fmt.Sprintf("ok       daemon: process %d of version", daemon.cmd.Process.Pid))
	out, _ = first.command(t, exitFailed, "doctor", "--config", other)
	wantText(t, "stdout", out, "problem  daemon: another daemon holds the state directory", fmt.Sprintf("process %d, with the configuration %s", daemon.cmd.Process.Pid, path),
		fmt.Sprintf("\n         → stop that one (kill %d), or set another STATE_DIRECTORY", daemon.cmd.Process.Pid))

	rival := launch{env: []string{second.env}}.start(t, "run", "--config", other)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conflict := func(p *process) bool {
		return slices.ContainsFunc(p.logged("receiving is interrupted; trying again until it works"), func(e entry) bool { return strings.Contains(e.text("error"), "conflict") })
	}
	if !rival.stderr.await(ctx, func(string) bool { return conflict(rival) || conflict(daemon) }) {
		t.Fatal("two daemons receive with one token, and none of them notices")
	}
	s, config := second, other
	if conflict(daemon) {
		s, config = first, path
	}
	out, _ = s.command(t, exitFailed, "doctor", "--config", config)
	wantText(t, "stdout", out, "problem  daemon: its endpoint telegram is retrying: conflict: ", "\n         → another program uses the same token")
	rival.stop()
	daemon.stop()
}
