//go:build race

package slack_test

// raced says that the race detector runs: the longest tests are shorter then, as they are played in full without it.
const raced = true
