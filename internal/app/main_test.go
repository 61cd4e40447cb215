// The build tag excludes this file from tests with real servers, which keep connections open for later requests.

//go:build !live

package app_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Tests that run the demo mostly wait, so more of them can run at once than the machine has cores. The flag
	// -parallel on the command line overrides this number, because it is parsed later.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
