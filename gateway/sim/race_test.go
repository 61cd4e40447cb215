//go:build race

package sim

const (
	raced = true // the race detector runs
	// perKind is how many schedules are played for each kind of platform. The race detector makes them many times slower.
	// So only the first of the schedules that norace_test.go plays are played here.
	perKind = "12"
)
