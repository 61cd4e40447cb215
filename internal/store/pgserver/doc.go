// Package pgserver runs real PostgreSQL servers, for tests and for programs that try telex out. Each server has a
// temporary directory and a free port of the loopback interface. Each server runs as a user that is not root.
package pgserver
