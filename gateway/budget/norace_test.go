//go:build !race

package budget

const (
	raced = false
	// checks is the number of schedules per property. Others are played with the race detector (see race_test.go).
	checks = "580"
)
