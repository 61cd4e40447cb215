// Package sse reads the server-sent events in which a model's answer is streamed. It tolerates the sloppiness of
// providers. It does not interpret the data of the events.
package sse
