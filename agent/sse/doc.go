// Package sse reads the server-sent events in which a model's answer is streamed. The package accepts streams that deviate
// from the standard, because some providers send such streams. The package does not interpret the data of the events.
package sse
