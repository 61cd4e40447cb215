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

// perKind is how many schedules of each kind are played when the command line does not say, and
// seed where they are drawn from: always the same ones, so that a change that breaks them is to
// blame for it. Others are what make sim is for.
const (
	perKind = "50"
	seed    = "20261121"
)

func TestMain(m *testing.M) {
	flag.Parse()
	asked := false // for another number, by flag or environment
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	_, wanted := os.LookupEnv("RAPID_CHECKS")
	if !asked && !wanted {
		if err := errors.Join(flag.Set("rapid.checks", perKind), flag.Set("rapid.seed", seed)); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// TestWhateverHappens plays random schedules on every kind of platform. A failure prints a small
// schedule that fails, all that happened in it, and the seed.
func TestWhateverHappens(t *testing.T) { playAll(t, nil) }

// TestWhateverHappensToReplicas plays them with several gateways over one store.
func TestWhateverHappensToReplicas(t *testing.T) { playAll(t, (*schedule).drawReplicas) }

// playAll plays random schedules on every kind of platform; more draws what else happens.
func playAll(t *testing.T, more func(*schedule, *rapid.T)) {
	sum := &total{counts: counts{}}
	t.Cleanup(func() {
		t.Logf("what happened:\n%s", sum)
		if none := sum.missing(more != nil); len(none) > 0 && !t.Failed() {
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
