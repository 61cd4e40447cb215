//go:build !race

package store_test

// raced says that the race detector does not run.
const raced = false
