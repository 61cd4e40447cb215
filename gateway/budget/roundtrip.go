package budget

import "time"

const (
	// The shortest round trip counts as known only after at least minSamples calls and minSampleTime. The round trips of
	// the first calls may all include the time to connect.
	minSamples    = 32
	minSampleTime = 3 * time.Second
	// epoch is the length of one period of measurement. In each period, roundTrips finds the shortest round trip.
	// lowerBound uses the shortest round trips of the current and of the previous epoch.
	epoch = time.Minute
)

// roundTrips tracks the shortest recent round trip. The zero value has no data.
type roundTrips struct {
	began    time.Time     // start of the current epoch
	calls    int           // number of calls in the current epoch
	shortest time.Duration // shortest round trip in the current epoch
	previous time.Duration // shortest round trip of the previous epoch; 0: unknown
}

// add records a round trip.
func (t *roundTrips) add(d time.Duration, now time.Time) {
	if t.calls > 0 && t.full(now, epoch) {
		*t = roundTrips{previous: t.shortest}
	}
	if t.calls == 0 {
		t.began, t.shortest = now, d
	}
	t.calls++
	t.shortest = min(t.shortest, d)
}

func (t *roundTrips) full(now time.Time, after time.Duration) bool {
	return t.calls >= minSamples && now.Sub(t.began) >= after
}

// lowerBound returns a lower bound of all round trips: three quarters of the shortest observed round trip. The bound
// stays valid even if the shortest round trip becomes shorter by up to a quarter. lowerBound returns 0 while too few
// round trips were observed.
func (t *roundTrips) lowerBound(now time.Time) time.Duration {
	d := t.previous
	if d == 0 && t.full(now, minSampleTime) {
		d = t.shortest
	}
	return min(d, t.shortest) * 3 / 4
}
