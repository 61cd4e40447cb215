//go:build race

package chatcompletions_test

// raced reports whether the race detector is on. If it is on, the longest tests are shortened. Without the race detector,
// these tests run in full.
const raced = true
