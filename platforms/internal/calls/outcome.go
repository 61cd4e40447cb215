package calls

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"time"

	"telex/internal/chat"
)

// maxResponse is the maximum size of one response. Even the largest real responses, which contain a hundred messages
// of maximum length, are smaller.
const maxResponse = 16 << 20 // bytes

// ErrResponseTooLarge means that a response exceeds 16 MiB.
var ErrResponseTooLarge = errors.New("the response is larger than 16 MiB")

// Outcome is the result of one HTTP request.
type Outcome struct {
	Status int // HTTP status; 0: there is no complete response
	Header http.Header
	Body   []byte
	Err    error // why there is no complete response
	Unsent bool  // the request was certainly not sent
}

// Do sends a request and reads the complete response, so that a broken connection is reported as a broken connection
// and not as malformed JSON. It sends nothing if the request's context has ended.
func Do(client *http.Client, req *http.Request) Outcome {
	if err := req.Context().Err(); err != nil {
		return Outcome{Err: err, Unsent: true}
	}
	unsent := false
	// The transport tries a second connection only if nothing was written to the first one. So the last of these
	// events decides whether the request was sent.
	trace := &httptrace.ClientTrace{
		GetConn: func(string) { unsent = true },
		GotConn: func(httptrace.GotConnInfo) { unsent = false },
	}
	resp, err := client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		op, ok := errors.AsType[*net.OpError](err)
		return Outcome{Err: err, Unsent: unsent || ok && op.Op == "dial"} // the dial error counts too, because some transports do not support the trace
	}
	defer resp.Body.Close() //nolint:errcheck // read completely or abandoned.
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	switch {
	case err != nil:
		return Outcome{Err: fmt.Errorf("read response: %w", err)}
	case len(body) > maxResponse:
		return Outcome{Err: ErrResponseTooLarge}
	}
	return Outcome{Status: resp.StatusCode, Header: resp.Header, Body: body}
}

// Response returns the outcome as an HTTP client would, for libraries that read responses themselves.
func (o Outcome) Response() (*http.Response, error) {
	if o.Err != nil {
		return nil, o.Err
	}
	return &http.Response{
		Status: http.StatusText(o.Status), StatusCode: o.Status, Header: o.Header,
		Body: io.NopCloser(bytes.NewReader(o.Body)), ContentLength: int64(len(o.Body)),
	}, nil
}

// UnansweredError returns the failure of a call that got no complete response. The failure is Temporary if the
// request was not sent, otherwise Uncertain.
func (o Outcome) UnansweredError(operation string, s Secrets) *chat.SendError {
	failure := &chat.SendError{Kind: chat.Uncertain, Err: s.Error(operation, o.Err)}
	if o.Unsent {
		failure.Kind = chat.Temporary
	}
	return failure
}

// Doer makes a function usable as an HTTP client by libraries that require an interface.
type Doer func(*http.Request) (*http.Response, error)

// Do calls d.
func (d Doer) Do(req *http.Request) (*http.Response, error) { return d(req) }

// RetryAfter returns how long a rate limit asks to wait: the seconds from the body or, if the body contains none,
// from the header. It returns fallback if both are missing or invalid.
func RetryAfter(seconds float64, h http.Header, fallback time.Duration) time.Duration {
	if !(seconds > 0) {
		seconds, _ = strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After")), 64) // 0 for a date or a missing header
	}
	if !(seconds > 0) || seconds > math.MaxInt64/float64(time.Second)/2 {
		return fallback
	}
	return time.Duration(math.Ceil(seconds*1000)) * time.Millisecond
}

// AsRepeatable returns the failure of a call that may be repeated safely: Uncertain becomes Temporary.
func AsRepeatable(err error) *chat.SendError { return Reclassify(err, chat.Temporary, chat.Uncertain) }

// Reclassify returns err as a SendError. If its kind is one of from, the kind becomes to.
func Reclassify(err error, to chat.ErrorKind, from ...chat.ErrorKind) *chat.SendError {
	failure := *chat.AsSendError(err)
	if slices.Contains(from, failure.Kind) {
		failure.Kind = to
	}
	return &failure
}
