//go:build !race

package budget

const (
	raced = false
	// checks is the number of schedules per property. More are played with the race detector.
	checks = "580"
)
