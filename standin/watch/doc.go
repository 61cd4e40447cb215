// Package watch tells what happens in a stand-in to all who watch: to Go code as a sequence, to other processes
// as server-sent events.
package watch
