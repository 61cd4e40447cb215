package provider

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"time"

	"telex/agent"
	"telex/agent/sse"
)

const (
	defaultMaxAnswer = 64 << 20
	maxErrorBody     = 64 << 10
)

// Exchange is go-openai's HTTP client for one call. Exchange adds the fields of the request that go-openai can't encode.
// Exchange converts error responses itself, because go-openai loses their headers. Exchange checks the content type of the
// response, and keeps the streamed or whole answer in Events or Whole.
type Exchange struct {
	Events *sse.Events // a streamed answer
	Whole  []byte      // a whole answer, as JSON

	body    io.Closer // the body of a streamed answer
	client  *http.Client
	headers map[string]string
	fields  map[string]any // fields of the request that go-openai does not set
	redact  redactor
	stream  bool

	maxAnswer int64
}

// Do implements go-openai's interface of an HTTP client.
func (x *Exchange) Do(req *http.Request) (*http.Response, error) {
	if err := x.prepare(req); err != nil {
		return nil, err
	}
	res, err := x.client.Do(req)
	if err != nil {
		me := x.redact.transportError(agent.Retryable, err)
		me.NotSent = notSent(err)
		return nil, me
	}
	if err := x.convert(res); err != nil {
		_ = res.Body.Close() // err is more important than an error of Close
		return nil, err
	}
	return res, nil
}

// notSent reports whether a request failed because there was no connection.
func notSent(err error) bool {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect")
}

func (x *Exchange) prepare(req *http.Request) error {
	for name, value := range x.headers {
		req.Header.Set(name, value)
	}
	if len(x.fields) == 0 {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return fmt.Errorf("read own request: %w", err)
	}
	if body, err = addFields(body, x.fields); err != nil {
		return fmt.Errorf("add to own request: %w", err)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = int64(len(body))
	return nil
}

// addFields adds fields to a JSON object.
func addFields(object []byte, fields map[string]any) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(object, &all); err != nil {
		return nil, err
	}
	for name, value := range fields {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		all[name] = raw
	}
	return json.Marshal(all)
}

// convert checks a response and prepares its body for reading. convert returns an error if the response is not an answer of
// the API.
func (x *Exchange) convert(res *http.Response) error {
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return x.readError(res)
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind == "text/html" {
		return x.wrongContent(res, kind)
	}
	if x.stream && kind == "text/event-stream" {
		x.keepStream(res, res.Body)
		return nil
	}
	body := bufio.NewReader(res.Body)
	first, err := firstByte(body)
	if err != nil {
		return x.redact.transportError(agent.Broken, fmt.Errorf("read the answer: %w", err))
	}
	switch {
	case first == '<':
		return x.wrongContent(res, kind)
	case first == '{':
		return x.readWhole(res, body)
	case x.stream: // it looks like an event stream, whatever its content type
		x.keepStream(res, body)
		return nil
	default:
		return x.wrongContent(res, kind)
	}
}

// keepStream keeps a streamed answer for readEvents. go-openai gets an empty body, so that its own reader and buffer are
// freed.
func (x *Exchange) keepStream(res *http.Response, body io.Reader) {
	x.Events, x.body = sse.New(body, x.redact.frameError), res.Body
	res.Body = http.NoBody
}

var errTail = errors.New("the stream did not end after the answer")

// readEvents passes the events of a streamed answer to the function take. After take has reported the end of the answer, the
// stream may continue for tailWait, for example with the usage. After tailWait, readEvents calls the function cancel, which
// ends the stream. readEvents ignores errors after the end of the answer.
func (x *Exchange) readEvents(tailWait time.Duration, cancel context.CancelCauseFunc, take func(event []byte) (ended bool, err error)) error {
	defer func() { _ = x.body.Close() }() // the answer was read, or is not needed any more
	var tail *time.Timer
	for {
		event, err := x.Events.Next()
		ended := tail != nil
		if err == nil {
			ended, err = take(event)
		}
		switch {
		case err != nil && ended:
			return nil
		case err != nil:
			return err
		case ended && tail == nil:
			tail = time.AfterFunc(tailWait, func() { cancel(errTail) })
			defer tail.Stop()
		}
	}
}

// readError returns the error for a response with an error status.
func (x *Exchange) readError(res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if err != nil && len(body) == 0 {
		body = []byte(res.Status)
	}
	e := errorIn(body)
	if e == nil {
		e = &APIError{Message: excerpt(body)}
	}
	if res.StatusCode < 400 {
		e = &APIError{Message: "the address redirects elsewhere; check base_url"}
	}
	me := x.redact.statusError(res.StatusCode, retryAfter(res.Header, time.Now()), e)
	switch res.Header.Get("X-Should-Retry") { // OpenAI says in this header whether to retry
	case "true":
		if me.Kind == agent.BadRequest {
			me.Kind = agent.Retryable
		}
	case "false":
		me.NoRetry = true
	}
	return me
}

// wrongContent returns the error for a response whose status reports success although its content is not that of this API,
// such as an HTML page.
func (x *Exchange) wrongContent(res *http.Response, kind string) error {
	if kind == "" {
		kind = "no content type"
	}
	return &agent.ModelError{
		Kind: agent.BadRequest, Status: res.StatusCode,
		Err: fmt.Errorf("the answer is not of this API (%s); check base_url", kind),
	}
}

// readWhole reads an answer that was sent in one piece. Some servers send such an answer even if a stream was requested.
func (x *Exchange) readWhole(res *http.Response, body io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(body, x.maxAnswer+1))
	switch {
	case err != nil:
		return x.redact.transportError(agent.Broken, fmt.Errorf("read the answer: %w", err))
	case int64(len(data)) > x.maxAnswer:
		return &agent.ModelError{Kind: agent.BadRequest, Status: res.StatusCode, Err: fmt.Errorf("the answer is longer than %d MB", x.maxAnswer>>20)}
	}
	if e := errorIn(data); e != nil {
		status := e.status
		if status == 0 {
			status = res.StatusCode
		}
		return x.redact.statusError(status, retryAfter(res.Header, time.Now()), e)
	}
	x.Whole = data
	_ = res.Body.Close() // the body was read to its end
	res.Body = io.NopCloser(bytes.NewReader(data))
	return nil
}

// firstByte peeks at the first byte that is not white space. Some providers send empty lines while the model writes an answer
// that is not streamed.
func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		switch b {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF: // white space, or a byte order mark
		default:
			return b, r.UnreadByte()
		}
	}
}
