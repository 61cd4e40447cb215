//go:build !race

package discord_test

import (
	"testing"

	"telex/platforms/conformance"
	standin "telex/standin/discord"
)

// TestConformanceInThreads runs the conformance suite for a bot that answers in threads. In the run of the suite that
// TestConformanceInThreads starts, the group is a thread.
func TestConformanceInThreads(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.World {
		w := newWorldWith(t, standin.Options{Limits: standin.NoLimits()})
		thread, err := w.server.StartThread(standin.DefaultChannel, "", "a thread")
		if err != nil {
			t.Fatal(err)
		}
		w.threads, w.thread = true, thread
		return w
	})
}
