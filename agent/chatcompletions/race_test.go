//go:build race

package chatcompletions_test

// raced reports whether the race detector is on. If it is on, the longest tests are shortened. They run in full without
// it.
const raced = true
