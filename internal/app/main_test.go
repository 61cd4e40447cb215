// The tag excludes the tests with real servers, because their connections stay open for the next request.

//go:build !live

package app_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Tests with the demo mostly wait, so more of them run at once than there are cores. A -parallel on the command
	// line overrides this, because it is read later.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
