// Package sse reads the server-sent events that a model's answer streams in, as carelessly as
// providers write them. It knows nothing of what the events hold.
package sse
