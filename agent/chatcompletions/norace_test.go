//go:build !race

package chatcompletions_test

// raced says that the race detector does not run.
const raced = false
