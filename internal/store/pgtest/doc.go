// Package pgtest runs real PostgreSQL servers for tests: each in a temporary directory, on a free port of the loopback interface,
// as a user that is not root.
package pgtest
