//go:build !race

package slack_test

// raced says that the race detector does not run.
const raced = false
