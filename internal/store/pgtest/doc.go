// Package pgtest runs PostgreSQL servers for tests. Each server is stopped when its test ends. If a server can't be
// started or used, the test fails.
package pgtest
