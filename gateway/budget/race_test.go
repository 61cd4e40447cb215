//go:build race

package budget

const (
	raced = true // whether the race detector is on
	// checks is the number of random schedules that each property test tries with the race detector, which makes the tests
	// sixteen times slower.
	checks = "20"
)
