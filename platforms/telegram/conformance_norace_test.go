//go:build !race

package telegram_test

import (
	"testing"

	"telex/platforms/conformance"
	"telex/platforms/telegram"
)

// TestConformanceRich runs the suite with RichAlways: all messages and drafts are rich messages.
func TestConformanceRich(t *testing.T) {
	t.Parallel()
	conformance.Run(t, richWorld(telegram.RichAlways))
}

// TestConformanceRichAuto runs the suite with RichAuto: messages with a table are rich messages.
func TestConformanceRichAuto(t *testing.T) {
	t.Parallel()
	conformance.Run(t, richWorld(telegram.RichAuto))
}

// TestConformanceWebhook runs the suite with a bot that receives updates by a webhook.
func TestConformanceWebhook(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.World { return newHookedWorld(t) })
}

func richWorld(r telegram.Rich) func(t *testing.T) conformance.World {
	return func(t *testing.T) conformance.World {
		w := newWorld(t).(*world)
		w.rich = r
		return w
	}
}
