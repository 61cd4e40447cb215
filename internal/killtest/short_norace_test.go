//go:build !race

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The test kills the built binary at random moments and during chosen calls. Everybody must nevertheless see the answer to
// every question, and no other text of the bot. The test makes as few kills as killtest with the flag -short (F43).
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
