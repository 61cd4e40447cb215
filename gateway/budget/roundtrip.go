package budget

import "time"

const (
	// After sureCalls calls over sureAfter the shortest round trip counts as known: the first calls may all
	// include the time to connect.
	sureCalls = 32
	sureAfter = 3 * time.Second
	// epoch is how long a round trip is remembered at least; at most twice as long.
	epoch = time.Minute
)

// roundTrips tracks the shortest recent round trip. The zero value has no data.
type roundTrips struct {
	began    time.Time     // start of the current epoch
	calls    int           // number of calls in it
	shortest time.Duration // shortest round trip in it
	before   time.Duration // shortest round trip of the previous epoch; 0: unknown
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

// sure returns a lower bound of all round trips: three quarters of the shortest observed one, so that the
// fastest may get faster by a quarter. It is 0 while too few were observed.
func (t *roundTrips) sure(now time.Time) time.Duration {
	d := t.before
	if d == 0 && t.full(now, sureAfter) {
		d = t.shortest
	}
	return min(d, t.shortest) * 3 / 4
}
