//go:build race

package store_test

// raced reports whether the race detector is on. With the race detector, SQLite is many times slower, so tests do less
// and have longer time limits.
const raced = true
