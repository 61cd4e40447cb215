package slack

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	library "github.com/slack-go/slack"
	"golang.org/x/sync/semaphore"
)

// Anybody can reach the address of the request URL. These limits bound the memory of all requests whose signatures are not
// checked yet: about 10 MB.
const (
	// maxBody bounds a request body, in bytes. Slack documents no limit; events are far smaller.
	maxBody = 1 << 20
	// ownBytes is what each request body may take in any case, and sharedBytes what longer bodies share.
	ownBytes    = 16 << 10
	sharedBytes = 4 << 20
	// maxRequests is how many requests are handled at the same time.
	maxRequests = 128
	// maxConnections is how many connections are open at the same time. Further ones wait.
	maxConnections = 256
	// maxHeader bounds the headers of a request, in bytes.
	maxHeader = 16 << 10
	// bodyTimeout is how long a body may take to arrive. Slack gives up after ackTime.
	bodyTimeout = ackTime
)

// requestError is a request that is refused, with the status that says so.
type requestError struct {
	status int
	error
}

var errBodyTooLarge = errors.New("the body is too large")

// readRequest returns the body of a request by Slack. It reads nothing of a request whose headers can't be Slack's.
// https://docs.slack.dev/authentication/verifying-requests-from-slack
func (r *reception) readRequest(ctx context.Context, w http.ResponseWriter, req *http.Request) ([]byte, error) {
	if req.Method != http.MethodPost {
		return nil, requestError{http.StatusMethodNotAllowed, errors.New("only Slack's requests are answered here")}
	}
	signature, err := library.NewSecretsVerifier(req.Header, r.bot.opts.SigningSecret)
	switch {
	case errors.Is(err, library.ErrExpiredTimestamp):
		return nil, requestError{http.StatusUnauthorized, errors.New("the request is too old: if this goes on, the clock of this machine is wrong")}
	case err != nil:
		return nil, requestError{http.StatusUnauthorized, errors.New("the request has no signature or no timestamp")}
	case req.ContentLength > maxBody:
		return nil, requestError{http.StatusRequestEntityTooLarge, errBodyTooLarge}
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	// A request that is never finished must not keep Run from ending.
	stop := context.AfterFunc(ctx, func() { _ = control.SetReadDeadline(time.Now()) })
	body, err := readBody(req.Body, r.bodies)
	stop()
	if err != nil {
		return nil, err
	}
	_, _ = signature.Write(body) // never fails
	if err := signature.Ensure(); err != nil {
		return nil, requestError{http.StatusUnauthorized, errors.New("the signature is wrong: is signing_secret that of this app?")}
	}
	return body, nil
}

// readBody returns a whole body. What it takes beyond ownBytes it takes from shared while it reads. The memory is taken as
// the bytes arrive, not as they are announced.
func readBody(from io.Reader, shared *semaphore.Weighted) ([]byte, error) {
	buffer, taken := make([]byte, 0, ownBytes), 0
	defer func() { shared.Release(int64(taken)) }()
	for {
		if size := cap(buffer); len(buffer) == size {
			if !shared.TryAcquire(int64(size)) {
				return nil, requestError{http.StatusTooManyRequests, errors.New("too many large requests at once")}
			}
			taken += size
			buffer = append(make([]byte, 0, 2*size), buffer...)
		}
		n, err := from.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		switch {
		case len(buffer) > maxBody:
			return nil, requestError{http.StatusRequestEntityTooLarge, errBodyTooLarge}
		case errors.Is(err, io.EOF):
			return buffer, nil
		case err != nil:
			return nil, requestError{http.StatusBadRequest, errors.New("the body was cut, or came too slowly")}
		}
	}
}
