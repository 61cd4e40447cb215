//go:build race

package store_test

// raced reports whether the race detector is on. SQLite is many times slower then, so tests do less and have longer
// time limits.
const raced = true
