// Package sse reads the server-sent events in which a model's answer is streamed. The package accepts streams that deviate
// from the standard, as those of some providers do. The package does not interpret the data of the events.
package sse
