package budget

import "time"

const (
	// sureCalls and sureAfter are how many calls, over how long, show the shortest round trip:
	// the first ones may all have had to connect before.
	sureCalls = 32
	sureAfter = 3 * time.Second
	// epoch is how long a round trip is remembered, and at most twice that.
	epoch = time.Minute
)

// roundTrips knows the shortest round trip of late. The zero value knows none.
type roundTrips struct {
	began    time.Time     // of the current epoch
	calls    int           // in it
	shortest time.Duration // in it
	before   time.Duration // in the epoch before; 0: there was none, or nothing is sure
}

// add records a round trip.
func (t *roundTrips) add(d time.Duration, now time.Time) {
	if t.calls > 0 && t.full(now, epoch) {
		*t = roundTrips{before: t.shortest}
	}
	if t.calls == 0 {
		t.began, t.shortest = now, d
	}
	t.calls++
	t.shortest = min(t.shortest, d)
}

func (t *roundTrips) full(now time.Time, after time.Duration) bool {
	return t.calls >= sureCalls && now.Sub(t.began) >= after
}

// sure returns a time that every round trip takes at least: three quarters of the shortest
// one that was seen, so that the fastest may still get faster by a quarter. It is 0 while too
// little was seen.
func (t *roundTrips) sure(now time.Time) time.Duration {
	d := t.before
	if d == 0 && t.full(now, sureAfter) {
		d = t.shortest
	}
	return min(d, t.shortest) * 3 / 4
}
