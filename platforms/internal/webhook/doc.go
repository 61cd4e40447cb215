// Package webhook receives a platform's requests over HTTP. The package listens, limits the memory and time that
// requests of unknown senders can use, reads the requests and writes the responses. The adapter checks and decodes the
// requests. The package contains nothing specific to a platform.
package webhook
