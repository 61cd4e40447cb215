// Package pgserver runs real PostgreSQL servers for tests and for programs that try telex out: each in a temporary directory, on a
// free port of the loopback interface, as a user that is not root.
package pgserver
