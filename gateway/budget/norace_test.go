//go:build !race

package budget

const (
	raced = false
	// checks is the number of random schedules that each property test tries without the race detector.
	checks = "580"
)
