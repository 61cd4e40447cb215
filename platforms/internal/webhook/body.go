package webhook

import (
	"errors"
	"io"
	"net/http"

	"golang.org/x/sync/semaphore"
)

// Anybody can send requests to the URL of a webhook. The following constants limit the memory of all requests that
// telex has not checked yet to about 10 MB.
const (
	// Each request body may use ownBytes of memory. A longer body needs additional memory. The additional memory of all
	// bodies together is limited to sharedBytes.
	ownBytes    = 16 << 10
	sharedBytes = 4 << 20
	// maxRequests limits the requests that the server handles at the same time.
	maxRequests = 128
	// maxConnections limits the open connections. When maxConnections connections are open, a further connection waits
	// until an open connection is closed.
	maxConnections = 256
	// maxHeader limits the headers of a request, in bytes.
	maxHeader = 16 << 10
)

// Refusal is the error for a refused request, with the HTTP status of the response. The response to a refused request
// contains Reason, so Reason must not contain a secret.
type Refusal struct {
	Status int
	Reason string
}

// Error returns the reason for which the request was refused.
func (r *Refusal) Error() string { return r.Reason }

// Unauthorized returns the refusal of a request that is not from the platform.
func Unauthorized(reason string) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Reason: reason}
}

func errBodyTooLarge() error {
	return &Refusal{http.StatusRequestEntityTooLarge, "the body is too large"}
}

// readBody returns a complete body of up to limit bytes. readBody acquires memory beyond ownBytes from shared only
// when the bytes arrive, because the sender may announce a much greater length than it sends.
func readBody(from io.Reader, limit int64, shared *semaphore.Weighted) ([]byte, error) {
	buffer, taken := make([]byte, 0, ownBytes), 0
	defer func() { shared.Release(int64(taken)) }()
	for {
		if size := cap(buffer); len(buffer) == size {
			if !shared.TryAcquire(int64(size)) {
				return nil, &Refusal{http.StatusTooManyRequests, "too many large requests at once"}
			}
			taken += size
			buffer = append(make([]byte, 0, 2*size), buffer...)
		}
		n, err := from.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		switch {
		case int64(len(buffer)) > limit:
			return nil, errBodyTooLarge()
		case errors.Is(err, io.EOF):
			return buffer, nil
		case err != nil:
			return nil, &Refusal{http.StatusBadRequest, "the body broke off, or arrived too slowly"}
		}
	}
}
