//go:build !race

package store_test

// raced reports whether the race detector is on.
const raced = false
