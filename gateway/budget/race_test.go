//go:build race

package budget

// checks is how often each property is checked: with the race detector a schedule takes sixteen times as long, and most
// are played without it.
const checks = "60"
