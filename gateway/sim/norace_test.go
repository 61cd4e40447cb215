//go:build !race

package sim

const (
	raced = false
	// perKind is how many schedules of each kind are played.
	perKind = "50"
)
