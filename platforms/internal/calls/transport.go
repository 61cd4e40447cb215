package calls

import (
	"cmp"
	"net"
	"net/http"
	"strings"
	"time"
)

// Base returns the base URL of an API without a trailing slash. If address is empty, it returns fallback.
func Base(address, fallback string) string { return strings.TrimRight(cmp.Or(address, fallback), "/") }

// NewClient returns a client that follows no redirects. A redirect could send a token to another server or repeat a
// message, and no API needs redirects. If t is nil, it creates a transport that keeps up to idle idle connections.
func NewClient(t http.RoundTripper, idle int) *http.Client {
	if t == nil {
		t = newTransport(idle)
	}
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// newTransport returns a transport with only HTTP/1.1. WebSockets need HTTP/1.1. With HTTP/2, a broken connection
// would make the outcome of all running calls unknown instead of that of one.
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
