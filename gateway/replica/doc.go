// Package replica holds the state of one process that shares its store with other processes: whether its lease is
// valid, and which chats it owns. Package replica calls neither the store nor a platform.
package replica
