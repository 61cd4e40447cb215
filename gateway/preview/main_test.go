package preview

import (
	"errors"
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Schedules are cheap in virtual time. They are the same each time, so that a failure is a change's doing; the
	// command line may ask for more (-rapid.checks) and for others (-rapid.seed=0).
	if err := errors.Join(flag.Set("rapid.checks", checks), flag.Set("rapid.seed", "1")); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
