//go:build !race

package sim

const (
	raced = false
	// perKind is how many random schedules are played for each kind of platform.
	perKind = "50"
)
