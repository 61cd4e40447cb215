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
		{"forgets keys", "a repeated create call with the same key"},
		{"finds anything", "a message is found by its own key only"},
		{"calls it rejected", "D5: a first display of unknown outcome"},
		{"calls a lost message rejected", "D6: a preview that a person deleted"},
		{"believes in more", "D3: several simultaneous answers"},
		{"repeats by itself", "a call of unknown outcome is reported as uncertain"},
		{"never ends a stream", "D13, F48: a stream with a long silence"},
		{"calls everyone", "mentions in a model's text notify nobody"},
		{"previews links", "a message shows link previews"},
		{"cuts what it edits", "D1: a long answer is shown in parts"},
		{"leaves buttons", "D9: a press on the stop button stops the answer"},
		{"leaves presses open", "a press arrives once"},
		{"confirms too early", "a message that was not accepted is delivered again"},
		{"answers twice", "F50: a message that is delivered twice"},
		{"answers everybody", "in groups, the bot recognizes messages that address it"},
		{"trips over rubbish", "an invalid update does not block the next one"},
		{"logs a secret", "every message has its own id"},
		{"promises too much", "the adapter implements exactly the capabilities"},
		{"leaves buttons", "buttons answer a question for approval"},
		{"adds no buttons", "a question for approval appears with its buttons"},
		{"leaves drafts", "a question for approval appears with its buttons"},
		{"takes commands for text", "a command answers a question for approval"},
		{"leaves mentions in", "a yes of the asker answers a question"},
		{"takes everybody for one", "a question for approval ignores presses by other people"},
		{"sends what it should edit", "without streaming, a question for approval"},
		{"knows no old messages", "D10: after a kill during a question for approval"},
		{"shortens what is long", "a question for approval with 2,000 bytes"},
		{"never takes away", "a model's thoughts appear above"},
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
