//go:build race

package chatcompletions_test

// raced reports whether the race detector is on. With it, the longest tests are shorter; they run in full without it.
const raced = true
