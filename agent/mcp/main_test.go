package mcp

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// keeperArg makes this binary a keeper.
const keeperArg = "keep"

// TestMain plays a server where a test runs this binary as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == keeperArg {
		os.Exit(Keep(os.Args[2:]))
	}
	if kind := os.Getenv(playVar); kind != "" {
		play(kind)
		return
	}
	goleak.VerifyTestMain(m)
}
