package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"bad expression", []string{"-scenario", "("}, "-scenario: error parsing"},
		{"no scenario", []string{"-scenario", "^nothing$"}, "no such scenario"},
		{"no binary", []string{"-short", "-scenario", "one", "-binary", filepath.Join(t.TempDir(), "none")}, "start none: "},
		{"not telex", []string{"-short", "-scenario", "one", "-binary", "/bin/true"}, "ended before its first poll"},
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
