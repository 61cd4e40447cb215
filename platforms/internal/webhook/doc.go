// Package webhook receives a platform's requests over HTTP. It listens, limits the memory and time that requests of
// strangers can use, reads the requests and writes the responses. An adapter checks and decodes them. It contains
// nothing specific to a platform.
package webhook
