package calls

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"
	"time"
)

// Dial opens a connection, as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Base returns the address of an API without a slash at its end. An empty address means standard.
func Base(address, standard string) string { return strings.TrimRight(cmp.Or(address, standard), "/") }

// NewClient returns a client that follows no redirect: one could carry a token, or the message once more, to another
// place. No API redirects.
func NewClient(t http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// NewTransport returns a transport that keeps up to idle connections for the next calls. A nil dial means the network.
// It speaks HTTP/1.1 only: WebSockets need it, and a connection that breaks makes one call uncertain, not all that were
// in flight.
func NewTransport(dial Dial, idle int) *http.Transport {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dial,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: idle,
		IdleConnTimeout:     90 * time.Second,
		Protocols:           protocols,
	}
}
