//go:build !race

package budget

const (
	raced = false
	// checks is the number of schedules that each test of a property plays without the race detector.
	checks = "580"
)
