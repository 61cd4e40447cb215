//go:build !race

package chatcompletions_test

// raced reports whether the race detector is on.
const raced = false
