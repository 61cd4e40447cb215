package mcp

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain plays a server where a test runs this binary as one.
func TestMain(m *testing.M) {
	if kind := os.Getenv(playVar); kind != "" {
		play(kind)
		return
	}
	goleak.VerifyTestMain(m)
}
