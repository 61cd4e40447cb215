//go:build !race

package budget

const (
	raced = false
	// checks is how often each property is checked, beside the checks with the race detector.
	checks = "540"
)
