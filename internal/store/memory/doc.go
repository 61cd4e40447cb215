// Package memory is a store in memory, for the demo and for tests. It passes the same tests as
// the persistent stores.
package memory
