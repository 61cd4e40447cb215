//go:build !race

package slack_test

import (
	"testing"

	"telex/platforms/conformance"
)

// TestConformanceEvents runs the conformance suite for a bot that receives events over HTTP.
func TestConformanceEvents(t *testing.T) {
	t.Parallel()
	conformance.Run(t, eventsWorld)
}
