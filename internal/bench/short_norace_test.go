//go:build !race

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBenchShort checks that the bench itself works. TestBenchShort also checks that the built binary stays within the
// generous limits of the short scenarios, that no message is lost, doubled or refused, and that no platform limit is
// exceeded.
func TestBenchShort(t *testing.T) {
	t.Parallel()
	binary, file := buildTelex(t), filepath.Join(t.TempDir(), "bench.json")
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
				continue // the calls that were already running when the hidden limit first refused one are allowed
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
