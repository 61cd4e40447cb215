//go:build race

package slack_test

// raced reports whether the race detector is on. If the race detector is on, the longest tests run in a shorter
// version.
const raced = true
