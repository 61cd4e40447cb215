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

// maxResponse is the maximum size of one response. Even the largest response of a platform, which contains a hundred
// messages of maximum length, is smaller than maxResponse.
const maxResponse = 16 << 20 // bytes

// ErrResponseTooLarge means that a response exceeds 16 MiB.
var ErrResponseTooLarge = errors.New("the response is larger than 16 MiB")

// Outcome is the result of one HTTP request.
type Outcome struct {
	Status int // HTTP status; 0: there is no complete response
	Header http.Header
	Body   []byte
	Err    error // the reason why there is no complete response
	Unsent bool  // the request was certainly not sent
}

// Do sends a request and reads the complete response. If the connection breaks during the response, the Outcome
// reports this, so that the caller does not try to decode incomplete JSON. Do sends nothing if the request's context
// has ended.
func Do(client *http.Client, req *http.Request) Outcome {
	if err := req.Context().Err(); err != nil {
		return Outcome{Err: err, Unsent: true}
	}
	unsent := false
	// An HTTP transport uses a second connection for a request only if the transport has written nothing to the first
	// connection. The last call of GetConn or GotConn therefore shows whether the request was sent.
	trace := &httptrace.ClientTrace{
		GetConn: func(string) { unsent = true },
		GotConn: func(httptrace.GotConnInfo) { unsent = false },
	}
	resp, err := client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		op, ok := errors.AsType[*net.OpError](err)
		return Outcome{Err: err, Unsent: unsent || ok && op.Op == "dial"} // "dial" is for transports without the trace
	}
	defer resp.Body.Close() //nolint:errcheck // the body was read completely, or nobody needs it.
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	switch {
	case err != nil:
		return Outcome{Err: fmt.Errorf("read response: %w", err)}
	case len(body) > maxResponse:
		return Outcome{Err: ErrResponseTooLarge}
	}
	return Outcome{Status: resp.StatusCode, Header: resp.Header, Body: body}
}

// Response returns the outcome as an HTTP client would return it, for libraries that read responses themselves.
func (o Outcome) Response() (*http.Response, error) {
	if o.Err != nil {
		return nil, o.Err
	}
	return &http.Response{
		Status: http.StatusText(o.Status), StatusCode: o.Status, Header: o.Header,
		Body: io.NopCloser(bytes.NewReader(o.Body)), ContentLength: int64(len(o.Body)),
	}, nil
}

// UnansweredError returns the error of a call that got no complete response. If the request was certainly not sent,
// UnansweredError returns an error of kind Temporary. If the request may have been sent, UnansweredError returns an
// error of kind Uncertain.
func (o Outcome) UnansweredError(operation string, s Secrets) *chat.SendError {
	failure := &chat.SendError{Kind: chat.Uncertain, Err: s.Error(operation, o.Err)}
	if o.Unsent {
		failure.Kind = chat.Temporary
	}
	return failure
}

// Doer is a function that libraries can use as an HTTP client if they require an interface with the method Do.
type Doer func(*http.Request) (*http.Response, error)

// Do calls d.
func (d Doer) Do(req *http.Request) (*http.Response, error) { return d(req) }

// RetryAfter returns how long a response with status 429 asks the caller to wait. The parameter seconds is the wait in
// the response's body. If seconds is not positive, RetryAfter uses the header Retry-After. If neither the body nor the
// header contains a valid wait, RetryAfter returns fallback.
func RetryAfter(seconds float64, h http.Header, fallback time.Duration) time.Duration {
	if !(seconds > 0) {
		seconds, _ = strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After")), 64) // 0 for a missing header or a date
	}
	if !(seconds > 0) || seconds > math.MaxInt64/float64(time.Second)/2 {
		return fallback
	}
	return time.Duration(math.Ceil(seconds*1000)) * time.Millisecond
}

// AsRepeatable returns err as a SendError of a call that may be repeated safely. AsRepeatable changes the kind
// Uncertain to Temporary.
func AsRepeatable(err error) *chat.SendError { return Reclassify(err, chat.Temporary, chat.Uncertain) }

// Reclassify returns err as a SendError. If the list from contains the error's kind, Reclassify changes the kind to the
// parameter to.
func Reclassify(err error, to chat.ErrorKind, from ...chat.ErrorKind) *chat.SendError {
	failure := *chat.AsSendError(err)
	if slices.Contains(from, failure.Kind) {
		failure.Kind = to
	}
	return &failure
}
