// Package memory implements a store in memory, for the demo and for tests. This store passes the same tests as the
// persistent stores.
package memory
