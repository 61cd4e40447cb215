// The build tag leaves out this file for tests with real servers, because their connections stay open for later
// requests.

//go:build !live

package app_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Tests with the demo mostly wait, so more of them can run at once than there are cores. A -parallel on the
	// command line overrides this number, because the flag is parsed later.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
