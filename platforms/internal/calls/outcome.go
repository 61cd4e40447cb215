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

// maxResponse bounds what is read of one answer. The largest real ones, a hundred messages of the longest text, stay below.
const maxResponse = 16 << 20 // bytes

// ErrResponseTooLarge is the cause when an answer exceeds 16 MiB.
var ErrResponseTooLarge = errors.New("the answer is larger than 16 MiB")

// Outcome is what is known of exactly one call.
type Outcome struct {
	Status int // HTTP; 0: there is no whole answer
	Header http.Header
	Body   []byte
	Err    error // why there is no whole answer
	Unsent bool  // the request surely never left
}

// Do sends a request and reads the whole answer, so that a connection that breaks in the middle is seen here and not as
// malformed JSON. It sends nothing once the request's context has ended.
func Do(client *http.Client, req *http.Request) Outcome {
	if err := req.Context().Err(); err != nil {
		return Outcome{Err: err, Unsent: true}
	}
	unsent := false
	// The transport tries a second connection only if nothing was written to the first, so the last event counts.
	trace := &httptrace.ClientTrace{
		GetConn: func(string) { unsent = true },
		GotConn: func(httptrace.GotConnInfo) { unsent = false },
	}
	resp, err := client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		op, ok := errors.AsType[*net.OpError](err)
		return Outcome{Err: err, Unsent: unsent || ok && op.Op == "dial"} // some transports do not trace
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end or given up.
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	switch {
	case err != nil:
		return Outcome{Err: fmt.Errorf("read the answer: %w", err)}
	case len(body) > maxResponse:
		return Outcome{Err: ErrResponseTooLarge}
	}
	return Outcome{Status: resp.StatusCode, Header: resp.Header, Body: body}
}

// Response returns the outcome as an HTTP client does, for libraries that read it.
func (o Outcome) Response() (*http.Response, error) {
	if o.Err != nil {
		return nil, o.Err
	}
	return &http.Response{
		Status: http.StatusText(o.Status), StatusCode: o.Status, Header: o.Header,
		Body: io.NopCloser(bytes.NewReader(o.Body)), ContentLength: int64(len(o.Body)),
	}, nil
}

// UnansweredError returns the failure of a call without a whole answer: Temporary if the request never left, else Uncertain.
func (o Outcome) UnansweredError(operation string, s Secrets) *chat.SendError {
	failure := &chat.SendError{Kind: chat.Uncertain, Err: s.Error(operation, o.Err)}
	if o.Unsent {
		failure.Kind = chat.Temporary
	}
	return failure
}

// Doer is an HTTP client that is a function, as libraries want one.
type Doer func(*http.Request) (*http.Response, error)

// Do calls d.
func (d Doer) Do(req *http.Request) (*http.Response, error) { return d(req) }

// RetryAfter returns how long a rate limit asks to wait: seconds by the body, else by the header. It returns standard if
// neither says so, or if what they say makes no sense.
func RetryAfter(seconds float64, h http.Header, standard time.Duration) time.Duration {
	if !(seconds > 0) {
		seconds, _ = strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After")), 64) // a date or nothing gives 0
	}
	if !(seconds > 0) || seconds > math.MaxInt64/float64(time.Second)/2 {
		return standard
	}
	return time.Duration(math.Ceil(seconds*1000)) * time.Millisecond
}

// AsRepeatable returns the failure of a call that may be repeated without harm: what is Uncertain is Temporary then.
func AsRepeatable(err error) *chat.SendError { return Reclassify(err, chat.Temporary, chat.Uncertain) }

// Reclassify returns a failure, of kind to where it is of one of the kinds from.
func Reclassify(err error, to chat.ErrorKind, from ...chat.ErrorKind) *chat.SendError {
	failure := *chat.AsSendError(err)
	if slices.Contains(from, failure.Kind) {
		failure.Kind = to
	}
	return &failure
}
