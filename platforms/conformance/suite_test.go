package conformance

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// flawed is the name of an environment variable. In the processes that TestSuiteFindsMistakes starts, the environment
// variable names the flaw that the adapter of toy has.
const flawed = "TELEX_CONFORMANCE_FLAW"

// The platform of TestSuite has every feature, and the platform's adapter has no flaw. The adapter must pass the suite,
// which shows that each case can be passed.
func TestSuite(t *testing.T) {
	t.Parallel()
	flaw := os.Getenv(flawed)
	Run(t, func(*testing.T) World { return newToy(flaw) })
}

// For each flaw in a list, the test gives the flaw to the adapter of toy. For each flaw, the case that is about this
// flaw must fail.
func TestSuiteFindsMistakes(t *testing.T) {
	t.Parallel()
	if os.Getenv(flawed) != "" {
		return // TestSuiteFindsMistakes of another process started this process
	}
	for _, tt := range []struct{ flaw, found string }{
		{"forgets keys", "a create that is repeated with its key"},
		{"finds anything", "a message is found by its key, and by no other"},
		{"calls it rejected", "D5: a first display whose fate is unknown"},
		{"calls a lost message rejected", "D6: a preview that a person deleted"},
		{"believes in more", "D3: several answers at once"},
		{"repeats by itself", "an unclear outcome is uncertain, and nothing is repeated"},
		{"never ends a stream", "D13, F48: a stream with a long silence"},
		{"calls everyone", "mentions in what a model writes call nobody"},
		{"previews links", "no address in a message is opened"},
		{"cuts what it edits", "D1: a long answer stands in parts"},
		{"leaves buttons", "D9: a press on the button stops the answer"},
		{"leaves presses open", "a press arrives once"},
		{"confirms too early", "what was not accepted comes again"},
		{"answers twice", "F50: what is delivered twice"},
		{"answers everybody", "in groups the bot knows when it is meant"},
		{"trips over rubbish", "a bad update does not hold up the next"},
		{"logs a secret", "every message has its own id"},
		{"promises too much", "every promised ability is there"},
		{"leaves buttons", "a question is answered by its buttons"},
		{"adds no buttons", "a question is shown with its buttons"},
		{"leaves drafts", "a question is shown with its buttons"},
		{"takes commands for text", "a question is answered by a command"},
		{"leaves mentions in", "a question is answered by a yes"},
		{"takes everybody for one", "a question is not answered by whoever else"},
		{"sends what it should edit", "where nothing streams a question"},
		{"knows no old messages", "D10: killed while a question stands"},
		{"shortens what is long", "a question of 2,000 bytes"},
		{"never takes away", "what a model thinks stands above"},
	} {
		t.Run(tt.flaw+" in "+tt.found, func(t *testing.T) {
			t.Parallel()
			name := "^" + regexp.QuoteMeta(strings.ReplaceAll(tt.found, " ", "_"))
			ctx := context.WithoutCancel(t.Context())
			suite := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSuite$/"+name, "-test.v") //nolint:gosec // this test
			suite.Env = append(os.Environ(), flawed+"="+tt.flaw)
			said, err := suite.CombinedOutput()
			if err == nil || !strings.Contains(string(said), "FAILED") {
				t.Errorf("the suite did not find that the adapter %s: %v\n%.2000s", tt.flaw, err, said)
			}
		})
	}
}
