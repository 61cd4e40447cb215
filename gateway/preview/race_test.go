//go:build race

package preview

// checks is the number of schedules that the tests play. With the race detector, schedules are many times slower, so
// fewer are played than in norace_test.go.
const checks = "400"
