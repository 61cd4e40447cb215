package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func buildTelex(t *testing.T) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "telex")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "telex/cmd/telex")
	build.Env = append(build.Environ(), "CGO_ENABLED=0") // the released binary is built without cgo, too
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

// The test runs programs that don't stop gracefully, or that answer no question. killtest must report their mistakes.
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
