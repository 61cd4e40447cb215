// Package watch sends a stand-in's events to watchers. Go code gets them as a sequence, and other processes as
// server-sent events.
package watch
