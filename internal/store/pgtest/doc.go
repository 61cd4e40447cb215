// Package pgtest runs PostgreSQL servers that end when a test ends. If a server can't be started or used, the test
// fails.
package pgtest
