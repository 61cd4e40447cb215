//go:build race

package chatcompletions_test

// raced reports whether the race detector is on. With the race detector, the longest tests are shortened.
const raced = true
