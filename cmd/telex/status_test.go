package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// The status must show an operator that an answer grows, but nothing of the answer's text.
func TestStatus(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t, telegram.Options{}, openai.Options{Rate: 20}), newState(t)
	if _, stderr := s.command(t, 1, "status"); !strings.Contains(stderr, "no daemon runs") {
		t.Errorf("without a daemon it says %q", stderr)
	}
	daemon := w.daemon(sections{}, s.env)
	defer daemon.stop()
	w.ask("words: 2000")
	w.awaitGrowth(1)

	out, _ := s.command(t, 0, "status")
	for _, want := range []string{"telex ", ": ready", "telegram", "CONVERSATION", "telegram:1001"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	out, _ = s.command(t, 0, "status", "--json")
	var status struct {
		Status        string
		Endpoints     []struct{ Name, State string }
		Conversations []struct {
			Conversation, Turn string
			Written, Visible   int
		}
	}
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		t.Fatal(err)
	}
	if len(status.Endpoints) != 1 || status.Endpoints[0].State != "connected" || len(status.Conversations) != 1 {
		t.Fatalf("got %+v", status)
	}
	if c := status.Conversations[0]; c.Turn == "" || c.Written == 0 || c.Visible > c.Written {
		t.Errorf("got %+v", c)
	}
	if shown := w.texts(ada)[0]; !strings.HasPrefix(shown, "one two three") || strings.Contains(out, "one two three") {
		t.Errorf("ada sees %q; the status has some of it: %s", shown, out)
	}
}

// If the store is a file, telex replicas must say that the daemon has its store for itself, and list no replica.
func TestReplicasOfAFile(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t, telegram.Options{}, openai.Options{}), newState(t)
	if _, stderr := s.command(t, exitFailed, "replicas"); !strings.Contains(stderr, "no daemon runs") {
		t.Errorf("without a daemon it says %q", stderr)
	}
	daemon := w.daemon(sections{}, s.env)
	defer daemon.stop()
	out, _ := s.command(t, exitDone, "replicas")
	wantText(t, "stdout", out, "This daemon's store is a file")
	out, _ = s.command(t, exitDone, "replicas", "--json")
	if want := `{"self":0,"leases_lost":0,"shared":false,"replicas":[]}`; strings.Join(strings.Fields(out), "") != want {
		t.Errorf("got %s, want %s", out, want)
	}
}

// The exit code must tell health checks that an endpoint has stopped permanently.
func TestStatusOfADaemonThatFails(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t, telegram.Options{}, openai.Options{}), newState(t)
	daemon := launch{env: []string{s.env}}.start(t, "run", "--config", w.config(sections{
		platforms: fmt.Sprintf("{telegram: {token: %q, api_base: %q}}", "1:wrong", w.telegramURL),
	}))
	daemon.awaitLog("endpoint stopped", 1)
	out, stderr := s.command(t, exitFailed, "status")
	wantText(t, "stdout", out, ": failing", fmt.Sprintf("process %d, with ", daemon.cmd.Process.Pid), "c.yaml", "stopped")
	if strings.Contains(out, "1:wrong") || stderr != "\nNo reply is under way, and no message waits.\n" {
		t.Errorf("stdout %q, stderr %q", out, stderr)
	}
	daemon.stop()
}
