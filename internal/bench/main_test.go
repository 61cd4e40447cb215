package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestBenchShort keeps the bench itself working. It also checks that the built binary stays within the generous
// limits of the short scenarios, and that no message is lost, doubled or refused and no platform limit is exceeded.
func TestBenchShort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary, file := filepath.Join(dir, "telex"), filepath.Join(dir, "bench.json")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "telex/cmd/telex")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-short", "-assert", "-binary", binary, "-json", file}, &out); err != nil {
		t.Errorf("bench: %v", err)
	}
	t.Log(out.String())
	if strings.Contains(out.String(), "MISSED") {
		t.Error("a bar was missed")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var results []result
	if err := json.Unmarshal(text, &results); err != nil {
		t.Fatal(err)
	}
	if got, want := len(results), len(shortScenarios()); got != want {
		t.Fatalf("%d results, want %d", got, want)
	}
	for _, r := range results {
		for _, m := range []measure{lost, doubled, tooMany, violations, shownTwice} {
			if m == violations && r.Scenario == "half" {
				continue // these calls were running when the hidden limit first refused one
			}
			if got, ok := r.Figures[m]; !ok || got != 0 {
				t.Errorf("%s: %s is %v (measured: %t), want 0", r.Scenario, m, got, ok)
			}
		}
		for _, m := range []measure{stalenessMean, frozenLongest, finalP95, calls, cpuPerThousand, peakMemory, idleMemory} {
			if r.Figures[m] <= 0 {
				t.Errorf("%s: %s is %v, want it measured", r.Scenario, m, r.Figures[m])
			}
		}
	}
}

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
