// Package pgtest runs PostgreSQL servers that end with a test. What goes wrong with a server ends the test.
package pgtest
