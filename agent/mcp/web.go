package mcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

const (
	maxBody = 16 << 20 // bytes of an answer that is no stream, as of a message on a pipe
	// streamWait is how long a server may take to begin the stream of its own messages. Some begin it with their first
	// message, for which nobody can wait.
	streamWait = 10 * time.Second
)

// web is HTTP with a server: its headers, its bounds.
type web struct {
	base    http.RoundTripper
	headers map[string]string
}

// newWeb returns a client for a server.
func newWeb(s Server, base http.RoundTripper) *http.Client {
	return &http.Client{Transport: &web{base, s.Headers}, CheckRedirect: stay}
}

// stay follows a server to another path of its own, such as one with a slash behind. The headers are for nobody else.
func stay(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || req.Method != first.Method || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// RoundTrip sends a request.
func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	req = req.Clone(ctx)
	for name, value := range w.headers {
		req.Header.Set(name, value)
	}
	late := func() bool { return false }
	if req.Method == http.MethodGet {
		timer := time.AfterFunc(streamWait, cancel)
		late = func() bool { return !timer.Stop() }
	}
	res, err := w.base.RoundTrip(req)
	if late() {
		if err == nil {
			_ = res.Body.Close()
		}
		cancel()
		return refused(req), nil
	}
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = &body{ReadCloser: res.Body, cancel: cancel, left: maxBody, stream: isStream(res)}
	return res, nil
}

// CloseIdleConnections closes what is open for nothing.
func (w *web) CloseIdleConnections() {
	if closer, ok := w.base.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

func isStream(res *http.Response) bool {
	mediaType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return mediaType == "text/event-stream"
}

// refused is the answer of a server that has no stream of its own messages.
func refused(req *http.Request) *http.Response {
	return &http.Response{
		Status: "405 Method Not Allowed", StatusCode: http.StatusMethodNotAllowed, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil)), Request: req,
	}
}

// body is an answer's body within bounds; a stream has none as a whole, and each of its messages one by the SDK.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
	left   int
	stream bool
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 && !b.stream {
		return 0, fmt.Errorf("the answer is longer than %d MiB", maxBody>>20)
	}
	return n, err
}

func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
