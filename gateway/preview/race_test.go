//go:build race

package preview

// checks is the number of random schedules that the tests play. The race detector makes each schedule many times
// slower, so the number is smaller than in norace_test.go.
const checks = "400"
