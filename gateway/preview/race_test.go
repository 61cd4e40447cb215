//go:build race

package preview

// checks is the number of schedules that the tests play. The race detector makes them many times slower, so only the
// first ones of those in norace_test.go are played.
const checks = "400"
