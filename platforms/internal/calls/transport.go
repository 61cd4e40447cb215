package calls

import (
	"cmp"
	"net"
	"net/http"
	"strings"
	"time"
)

// Base returns the address of an API without a slash at its end. An empty address means standard.
func Base(address, standard string) string { return strings.TrimRight(cmp.Or(address, standard), "/") }

// NewClient returns a client that follows no redirect: one could carry a token, or the message once more, to another
// place. No API redirects. A nil t means a transport of its own, which keeps up to idle connections for the next calls.
func NewClient(t http.RoundTripper, idle int) *http.Client {
	if t == nil {
		t = newTransport(idle)
	}
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// newTransport returns a transport that speaks HTTP/1.1 only: WebSockets need it, and a connection that breaks makes one
// call uncertain, not all that were in flight.
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
