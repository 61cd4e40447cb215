package preview

import (
	"errors"
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The tests play many schedules of events, since virtual time makes them fast. The schedules are the same each
	// time, so a new failure is caused by the newest change. The flag -rapid.checks sets another number of schedules,
	// and -rapid.seed=0 selects random schedules.
	if err := errors.Join(flag.Set("rapid.checks", checks), flag.Set("rapid.seed", "1")); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
