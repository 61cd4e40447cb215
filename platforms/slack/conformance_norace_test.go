//go:build !race

package slack_test

import (
	"testing"

	"telex/platforms/conformance"
)

// Events arrive by HTTP.
func TestConformanceEvents(t *testing.T) {
	t.Parallel()
	conformance.Run(t, eventsWorld)
}
