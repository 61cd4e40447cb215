package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"telex/agent"
)

const (
	// streamWait is how long a server may take to begin the stream of its own messages. The limit is necessary because some
	// servers send the header of the response only with their first message.
	streamWait = 10 * time.Second
	// writeTime is how long a server may take to accept a message that is not a request. The answers to requests have other
	// time limits.
	writeTime = 15 * time.Second
	// maxReplies is how many messages other than requests are sent at the same time, because a server can make the SDK send
	// thousands of replies.
	maxReplies = 4
	// getsAtOnce and getsASecond limit how often the stream of a server's own messages is opened, because the server can end
	// the stream again and again.
	getsAtOnce, getsASecond = 5, 1
	// maxHeaders limits the bytes of a response's headers.
	maxHeaders = 64 << 10
)

// web is the HTTP transport to a server. web adds the configured headers and enforces limits.
type web struct {
	base    http.RoundTripper
	headers map[string]string
	intake  *intake
	gets    *rate.Limiter
	replies chan struct{}
	fail    func(error) // ends the connection when the server exceeds a limit
}

// newWeb returns the transport of one connection to a server.
func newWeb(s *server, base http.RoundTripper, fail func(error)) *web {
	return &web{
		base: base, headers: s.Headers, intake: s.intake,
		gets: rate.NewLimiter(getsASecond, getsAtOnce), replies: make(chan struct{}, maxReplies), fail: fail,
	}
}

// client returns an HTTP client that uses w.
func (w *web) client() *http.Client { return &http.Client{Transport: w, CheckRedirect: checkRedirect} }

// checkRedirect allows redirects to another path of the same server, such as one with a trailing slash. checkRedirect allows
// no redirect to another host, because that host must not get the configured headers.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || req.Method != first.Method || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// RoundTrip implements http.RoundTripper. RoundTrip adds the configured headers, and limits the response.
func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	req = req.Clone(ctx)
	for name, value := range w.headers {
		req.Header.Set(name, value)
	}
	// Refuse compressed responses, because they can grow a thousandfold when they are decompressed.
	req.Header.Set("Accept-Encoding", "identity")
	res, err := w.send(req, cancel)
	if err != nil {
		cancel()
		return nil, err
	}
	if encoding := res.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		cancel()
		_ = res.Body.Close()
		return nil, fmt.Errorf("response is compressed (%s) although that was not accepted", agent.Clip(agent.OneLine(encoding), 20))
	}
	g := &gate{ReadCloser: res.Body, ctx: ctx, abort: cancel, intake: w.intake, framing: wholeBody, failed: w.fail}
	switch {
	case res.StatusCode < 200 || res.StatusCode >= 300:
		g.ReadCloser = struct { // read only the beginning of the body of an error
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, errorBodySize), res.Body}
	case isStream(res):
		g.framing = eventStream
	}
	res.Body = g
	return res, nil
}

// send sends a request with time limits.
func (w *web) send(req *http.Request, cancel func()) (*http.Response, error) {
	patience := time.Duration(0)
	stream := req.Method == http.MethodGet
	switch {
	case stream:
		if err := w.gets.Wait(req.Context()); err != nil {
			return nil, fmt.Errorf("wait to open the stream again: %w", err)
		}
		patience = streamWait
	case req.Method == http.MethodPost && !isRequest(req):
		select {
		case w.replies <- struct{}{}:
			defer func() { <-w.replies }()
		case <-req.Context().Done():
			return nil, context.Cause(req.Context())
		}
		patience = writeTime
	default:
		return w.base.RoundTrip(req)
	}
	timer := time.AfterFunc(patience, cancel)
	res, err := w.base.RoundTrip(req)
	if timer.Stop() {
		return res, err
	}
	if err == nil {
		_ = res.Body.Close()
	}
	if stream {
		return refused(req), nil
	}
	err = fmt.Errorf("server did not accept a message within %s", writeTime)
	w.fail(err) // the SDK would ignore the error and continue to queue messages
	return nil, err
}

// isRequest reports whether the body is a JSON-RPC request. web sets no time limit for the answer to a request.
func isRequest(req *http.Request) bool {
	if req.GetBody == nil {
		return true
	}
	body, err := req.GetBody()
	if err != nil {
		return true
	}
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	err = errors.Join(json.NewDecoder(body).Decode(&message), body.Close())
	return err != nil || message.Method != "" && message.ID != nil
}

// CloseIdleConnections closes idle connections.
func (w *web) CloseIdleConnections() {
	if closer, ok := w.base.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

func isStream(res *http.Response) bool {
	mediaType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return mediaType == "text/event-stream"
}

// refused returns the response with which a server says that it has no stream of its own messages. After this response, the SDK
// works without the stream.
func refused(req *http.Request) *http.Response {
	return &http.Response{
		Status: "405 Method Not Allowed", StatusCode: http.StatusMethodNotAllowed, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil)), Request: req,
	}
}
