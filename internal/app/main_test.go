// Not for the tests with real servers, to which connections stay open for the next question.

//go:build !live

package app_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Tests with the demo mostly wait for it, so that more of them than there are cores run at once. A
	// -parallel on the command line is stronger, as it is read later.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
