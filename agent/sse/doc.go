// Package sse reads the server-sent events in which a model's answer is streamed. It accepts streams that deviate from the
// standard, as those of some providers do. It does not interpret the data of the events.
package sse
