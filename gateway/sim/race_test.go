//go:build race

package sim

const (
	raced = true // the race detector runs
	// perKind is how many schedules of each kind are played: with the race detector, which makes them many times slower, the
	// first of those that are played without it.
	perKind = "12"
)
