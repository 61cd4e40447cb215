//go:build !race

package slack_test

// raced reports whether the race detector is on.
const raced = false
