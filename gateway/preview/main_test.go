package preview

import (
	"errors"
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Schedules are cheap in virtual time. They are the same in each run, so that a failure is caused by the newest
	// change. Flags set another number (-rapid.checks) or random ones (-rapid.seed=0).
	if err := errors.Join(flag.Set("rapid.checks", checks), flag.Set("rapid.seed", "1")); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
