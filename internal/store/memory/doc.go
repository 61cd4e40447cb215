// Package memory is a store in memory, for the demo and for tests. It passes the same suite as the durable store.
package memory
