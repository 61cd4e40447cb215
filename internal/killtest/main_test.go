package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// F43: the built binary is killed at random and at chosen moments. Everybody nevertheless sees every answer, and
// nothing else. The numbers of kills are those of a short run.
func TestKillShort(t *testing.T) {
	t.Parallel()
	binary, file := buildTelex(t), filepath.Join(t.TempDir(), "kill.json")
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-short", "-parallel", "10", "-binary", binary, "-json", file}, &out); err != nil {
		t.Errorf("killtest: %v", err)
	}
	t.Log("\n" + out.String())
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var results []result
	if err := json.Unmarshal(text, &results); err != nil {
		t.Fatal(err)
	}
	list := kinds(shortKills)
	if len(results) != len(list) {
		t.Fatalf("%d results, want %d", len(results), len(list))
	}
	for i, r := range results {
		want := list[i].trials * map[string]int{"start": 2, "twice": 2, "thrice": 3, "reload": 2}[r.Kind]
		if want == 0 {
			want = list[i].trials
		}
		if r.Kind == "cuts" {
			want = 0
		}
		if r.Kind != list[i].name || r.Trials != list[i].trials || r.Kills != want {
			t.Errorf("%s: %d trials and %d kills, want %s, %d and %d", r.Kind, r.Trials, r.Kills, list[i].name, list[i].trials, want)
		}
		if r.bad() {
			t.Errorf("%s: got %+v, want nothing lost, doubled, unfinished, beyond a limit, or otherwise wrong", r.Kind, r.verdict)
		}
	}
}

func buildTelex(t *testing.T) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "telex")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "telex/cmd/telex")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"bad expression", []string{"-kind", "("}, "-kind: error parsing"},
		{"no kind", []string{"-kind", "^nothing$"}, "no such kind of kill"},
		{"no platform", []string{"cluster", "-only", "nothing"}, "no such platform"},
		{"no binary", []string{"-n", "10", "-kind", "^send-before$", "-binary", filepath.Join(t.TempDir(), "none")}, "no such file"},
		{"not telex", []string{"-n", "10", "-kind", "^send-before$", "-binary", "/bin/true"}, "kind send-before, trial"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := run(t.Context(), tt.args, &out)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// The test must report a daemon that does not stop gracefully, or that answers nothing.
func TestKillFindsWhatIsLost(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "telex")
	if err := os.WriteFile(file, []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := run(t.Context(), []string{"-n", "10", "-kind", "^unstreamed$", "-binary", file}, &out)
	if want := "the daemon ended with exit status 3"; !errors.Is(err, errViolated) || !strings.Contains(out.String(), want) {
		t.Errorf("got error %v, want %v, and a line with %q:\n%s", err, errViolated, want, &out)
	}
}
