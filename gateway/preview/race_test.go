//go:build race

package preview

// checks is how many schedules are played: with the race detector, which makes them many times slower, the first of those
// that are played without it.
const checks = "400"
