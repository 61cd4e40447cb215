//go:build !race

package preview

// checks is how many schedules are played.
const checks = "2000"
