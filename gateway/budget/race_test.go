//go:build race

package budget

const (
	raced = true // whether the race detector is on
	// checks is the number of schedules per property. The race detector makes them sixteen times slower, so most are
	// played without it.
	checks = "20"
)
