//go:build !race

package budget

// checks is how often each property is checked, beside the checks with the race detector.
const checks = "540"
