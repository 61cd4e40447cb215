package tool

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

const maxHeader = 64 << 10 // bytes of an answer's header

// resolver looks names up; *net.Resolver is one.
type resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// line makes one request without following redirects. Nothing is kept open.
type line struct {
	guard    guard
	resolver resolver
	// proxy is as in http.Transport.
	proxy func(*http.Request) (*url.URL, error)
	// dial opens the connection. It calls judge, if any, with the address it is about to dial.
	dial func(ctx context.Context, network, address string, judge judge) (net.Conn, error)
	tls  *tls.Config // nil: the system's authorities
}

// judge is what a net.Dialer asks before it dials an address, which is then no name any more.
type judge = func(network, address string, _ syscall.RawConn) error

func dialTCP(ctx context.Context, network, address string, judge judge) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, KeepAlive: -1, Control: judge}
	return d.DialContext(ctx, network, address)
}

// do sends req to where the guard lets it. The caller closes the answer's body and cancels ctx then.
func (l line) do(req *http.Request) (*http.Response, error) {
	proxy, err := l.proxy(req)
	if err != nil {
		return nil, errors.New("invalid proxy URL in the environment")
	}
	transport := &http.Transport{
		DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader, TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig: l.config(),
	}
	if proxy == nil {
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			return l.dial(ctx, network, address, l.judge)
		}
		return transport.RoundTrip(req)
	}
	// The proxy may be anywhere. What it connects to is judged here.
	if req.URL.Scheme != "https" && proxy.Scheme != "socks5" && proxy.Scheme != "socks5h" {
		// It would be handed a name, which it looks up by itself.
		return nil, refusal("only https:// addresses can be read here, because there is a proxy between")
	}
	l.through(transport, proxy)
	ip, err := l.lookup(req.Context(), req.URL)
	if err != nil {
		return nil, err
	}
	transport.TLSClientConfig.ServerName = req.URL.Hostname()
	there := req.Clone(req.Context())
	there.Host = req.URL.Host
	there.URL.Host = netip.AddrPortFrom(ip, portOf(req.URL)).String()
	return transport.RoundTrip(there)
}

func (l line) config() *tls.Config {
	if l.tls == nil {
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return l.tls.Clone()
}

// through sends the transport's connections through a proxy. TLS with the proxy itself is made here: the transport would
// expect the name of the page's host in its certificate.
func (l line) through(transport *http.Transport, proxy *url.URL) {
	plain := *proxy
	if proxy.Scheme == "https" {
		plain.Scheme = "http"
		if proxy.Port() == "" {
			plain.Host = net.JoinHostPort(proxy.Hostname(), "443")
		}
	}
	transport.Proxy = func(*http.Request) (*url.URL, error) { return &plain, nil }
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := l.dial(ctx, network, address, nil)
		if err != nil || proxy.Scheme != "https" {
			return conn, err
		}
		config := l.config()
		config.ServerName = proxy.Hostname()
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return secure, nil
	}
}

// judge is asked about each address that a name has, right before it is dialed.
func (l line) judge(network, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("judge %s: %w", network, err)
	}
	return l.guard.address(a)
}

// lookup returns an address of the host that may be reached. All must be: the name of a public host has no others.
func (l line) lookup(ctx context.Context, u *url.URL) (netip.Addr, error) {
	ips := []netip.Addr{}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		ips = append(ips, ip)
	} else if ips, err = l.resolver.LookupNetIP(ctx, "ip", u.Hostname()); err != nil {
		return netip.Addr{}, fmt.Errorf("look up %s, which has to be done here although there is a proxy: %w", u.Hostname(), err)
	}
	var best netip.Addr
	for _, ip := range ips {
		ip = ip.Unmap()
		if err := l.guard.address(netip.AddrPortFrom(ip, portOf(u))); err != nil {
			return netip.Addr{}, err
		}
		if !best.IsValid() || ip.Is4() { // which every proxy can reach
			best = ip
		}
	}
	if !best.IsValid() {
		return netip.Addr{}, fmt.Errorf("look up %s: no address", u.Hostname())
	}
	return best, nil
}
