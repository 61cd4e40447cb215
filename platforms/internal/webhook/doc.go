// Package webhook receives a platform's requests over HTTP: it listens, bounds the memory and the time that strangers can take,
// reads the requests and writes the answers. An adapter checks and decodes them. It knows no platform.
package webhook
