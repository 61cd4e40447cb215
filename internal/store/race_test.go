//go:build race

package store_test

// raced says that the race detector runs: SQLite is many times slower then, so tests play less and judge time less strictly.
const raced = true
