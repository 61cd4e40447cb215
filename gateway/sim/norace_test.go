//go:build !race

package sim

const (
	raced = false
	// perKind is how many schedules are played for each kind of platform.
	perKind = "50"
)
