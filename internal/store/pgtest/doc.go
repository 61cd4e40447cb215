// Package pgtest runs PostgreSQL servers that end with a test. The test fails if starting or using a server fails.
package pgtest
