// Package watch sends a stand-in's events to watchers: to Go code as a sequence, to other processes as server-sent
// events.
package watch
