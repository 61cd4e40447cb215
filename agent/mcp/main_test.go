package mcp

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// keeperArg is the argument with which the test binary runs as a keeper.
const keeperArg = "keep"

// TestMain runs the tests. If a test has started this binary as a keeper or as a server, TestMain acts as the keeper or the
// server instead.
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
