//go:build race

package budget

const (
	raced = true // whether the race detector is on
	// checks is the number of schedules that each test of a property plays with the race detector, which makes them
	// sixteen times slower.
	checks = "20"
)
