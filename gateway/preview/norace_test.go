//go:build !race

package preview

// checks is the number of random schedules that the tests play.
const checks = "2000"
