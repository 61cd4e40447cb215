package sim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMutationsApply checks that the old lines of each mutation occur exactly once in the code, so that no mutation
// becomes outdated unnoticed. `make mutate` checks that a test fails when a mutation is applied.
func TestMutationsApply(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("testdata/mutations.txt")
	if err != nil {
		t.Fatal(err)
	}
	entries := strings.Split("\n"+string(list), "\n= ")[1:]
	if len(entries) < 300 {
		t.Fatalf("%d mutations, want all", len(entries))
	}
	for _, entry := range entries {
		var file string
		var old strings.Builder
		name, rest, _ := strings.Cut(entry, "\n")
		for line := range strings.Lines(rest) {
			switch {
			case strings.HasPrefix(line, "@ "):
				file = strings.TrimSpace(line[2:])
			case strings.HasPrefix(line, "-"):
				old.WriteString(line[1:])
			}
		}
		source, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := strings.Count(string(source), old.String()); n != 1 {
			t.Errorf("%s: its lines stand %d times in %s, want once", name, n, file)
		}
	}
}
