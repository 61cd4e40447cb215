// Package watch sends a stand-in's events to watchers. Go code receives the events as a sequence, and other processes
// receive them as server-sent events.
package watch
