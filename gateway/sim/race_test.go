//go:build race

package sim

const (
	raced = true // the race detector runs
	// perKind is how many random schedules are played for each kind of platform. With the race detector, schedules are
	// many times slower, so perKind is smaller than in norace_test.go.
	perKind = "12"
)
