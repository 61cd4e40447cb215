package main

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// playsProgram, set in a child's environment, makes the test binary be telex itself: the tests of
// this package run it as real processes with exactly the code under test, raced when the tests are.
const playsProgram = "TELEX_TEST_PLAYS_PROGRAM"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == hostileName {
		serveHostile(os.Args[2:])
		return
	}
	// A keeper has the environment of its server.
	if os.Getenv(playsProgram) != "" || len(os.Args) > 1 && os.Args[1] == keepName {
		os.Exit(run())
	}
	// These tests mostly wait for other processes, so that more of them than there are cores run at
	// once. A -parallel on the command line is stronger, as it is read later.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
