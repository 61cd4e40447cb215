package preview

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Schedules are cheap in virtual time; the command line may ask for another number.
	if err := flag.Set("rapid.checks", "1000"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
