// Package pgserver runs real PostgreSQL servers, for tests and for programs that try telex out. Each server has a
// temporary directory and listens on a free port of the loopback interface. No server runs as root.
package pgserver
