package slack_test

import (
	"strings"
	"testing"

	"telex/platforms/conformance"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, socketWorld)
}

func TestConformanceEvents(t *testing.T) {
	t.Parallel()
	conformance.Run(t, eventsWorld)
}

// sample is what the stand-in shows of the suite's Markdown: the marks that the dialect writes stay.
var sample = strings.Join([]string{
	"",
}, "\n")
