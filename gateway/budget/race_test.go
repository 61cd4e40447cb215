//go:build race

package budget

const (
	raced = true // the race detector runs
	// checks is how often each property is checked: with the race detector a schedule takes sixteen times as long, and most
	// are played without it.
	checks = "60"
)
