package sim

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// The constant seed is the seed that the tests use by default. The tests play the same schedules each time, perKind of
// them for each kind of platform, so a new failure is caused by the newest change. `make sim` plays other schedules.
const seed = "20261121"

func TestMain(m *testing.M) {
	flag.Parse()
	asked := false // asked is true if a flag sets another number of schedules
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	_, wanted := os.LookupEnv("RAPID_CHECKS")
	if !asked && !wanted {
		if err := errors.Join(flag.Set("rapid.checks", perKind), flag.Set("rapid.seed", seed)); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// TestRandomSchedules plays random schedules on every kind of platform. If a schedule fails, the test prints a smaller
// schedule that also fails, its events, and the seed.
func TestRandomSchedules(t *testing.T) { playAll(t, nil) }

// TestRandomSchedulesOfReplicas plays random schedules with several gateways that share one store.
func TestRandomSchedulesOfReplicas(t *testing.T) { playAll(t, (*schedule).drawReplicas) }

// playAll plays random schedules on every kind of platform. If the function more is not nil, it adds further random
// events to each schedule.
func playAll(t *testing.T, more func(*schedule, *rapid.T)) {
	sum := &total{counts: counts{}}
	t.Cleanup(func() {
		t.Logf("what happened:\n%s", sum)
		if none := sum.missing(more != nil); len(none) > 0 && !raced && !t.Failed() {
			t.Errorf("never met: %v", none)
		}
	})
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				s := schedules(k, more).Draw(rt, "schedule")
				var w *world
				synctest.Test(t, func(t *testing.T) { w = s.play(t) })
				sum.add(w.counts)
				if len(w.wrong) > 0 {
					rt.Fatalf("%s\nwhat happened:\n%s", strings.Join(w.wrong, "\n"), strings.Join(w.story(), "\n"))
				}
			})
		})
	}
}
