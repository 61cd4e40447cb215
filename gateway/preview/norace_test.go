//go:build !race

package preview

// checks is the number of schedules that the tests play.
const checks = "2000"
