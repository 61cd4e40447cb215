package main

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// playsProgram is an environment variable that makes the test binary run telex itself. With this variable, the tests
// run real processes of the code under test, with the race detector if the test binary has it.
const playsProgram = "TELEX_TEST_PLAYS_PROGRAM"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == hostileName {
		serveHostile(os.Args[2:])
		return
	}
	// Recognize the command keepName by its argument, because the daemon runs this command with the environment of the MCP
	// server that it starts.
	if os.Getenv(playsProgram) != "" || len(os.Args) > 1 && os.Args[1] == keepName {
		os.Exit(run())
	}
	// These tests mostly wait for other processes, so more of them run at once than there are cores. A -parallel flag
	// takes precedence, because it is read later.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
