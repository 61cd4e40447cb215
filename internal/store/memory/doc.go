// Package memory is a store that lives as long as the process, or as long as a test wants. It passes the suite of a durable
// one: it does the same, and is no kinder.
package memory
