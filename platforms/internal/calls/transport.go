package calls

import (
	"cmp"
	"net"
	"net/http"
	"strings"
	"time"
)

// Base returns address, which is the base URL of an API, without a trailing slash. If address is empty, Base returns
// fallback.
func Base(address, fallback string) string { return strings.TrimRight(cmp.Or(address, fallback), "/") }

// NewClient returns an HTTP client that follows no redirects. A redirect could send a token to another server or send a
// message twice, and no platform's API needs redirects. If t is nil, NewClient creates a transport that keeps up to
// idle connections open while they are unused.
func NewClient(t http.RoundTripper, idle int) *http.Client {
	if t == nil {
		t = newTransport(idle)
	}
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// newTransport returns a transport that uses only HTTP/1.1. WebSockets need HTTP/1.1. With HTTP/2, all running calls
// would use one connection, and if this connection broke, the outcome of all these calls would be unknown.
func newTransport(idle int) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: idle,
		IdleConnTimeout:     90 * time.Second,
		Protocols:           protocols,
	}
}
