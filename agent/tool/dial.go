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

const maxHeader = 64 << 10 // bytes of a response's header

// resolver looks up the IP addresses of host names. *net.Resolver implements it.
type resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// guardedClient makes one HTTP request to an address that the guard allows, without following redirects. guardedClient keeps
// no connection open.
type guardedClient struct {
	guard    guard
	resolver resolver
	// proxy chooses the proxy of a request, like http.Transport.Proxy.
	proxy func(*http.Request) (*url.URL, error)
	// dial opens the connection. If checkAddress is not nil, dial calls it with the IP address before connecting.
	dial func(ctx context.Context, network, address string, checkAddress dialControl) (net.Conn, error)
	tls  *tls.Config // nil: the system's certificate authorities
}

// dialControl is the type of net.Dialer.Control. The function is called with an IP address, not with a host name.
type dialControl = func(network, address string, _ syscall.RawConn) error

func dialTCP(ctx context.Context, network, address string, judge dialControl) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, KeepAlive: -1, Control: judge}
	return d.DialContext(ctx, network, address)
}

// do sends req if the guard allows its address. The caller must close the response's body and then cancel ctx.
func (l guardedClient) do(req *http.Request) (*http.Response, error) {
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
			return l.dial(ctx, network, address, l.checkAddress)
		}
		return transport.RoundTrip(req)
	}
	// The proxy's own address is not checked, because the operator chose it. The address to which the proxy connects is
	// checked.
	if req.URL.Scheme != "https" && proxy.Scheme != "socks5" && proxy.Scheme != "socks5h" {
		// An HTTP proxy would look up the host name itself, so telex could not check the IP address.
		return nil, refusal("only https:// addresses can be read here, because there is a proxy between")
	}
	l.useProxy(transport, proxy)
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

func (l guardedClient) config() *tls.Config {
	if l.tls == nil {
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return l.tls.Clone()
}

// useProxy sends the transport's connections through a proxy. useProxy makes the TLS connection to the proxy itself, because
// the transport would expect the page's host in the proxy's certificate.
func (l guardedClient) useProxy(transport *http.Transport, proxy *url.URL) {
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

// checkAddress checks each IP address of a host name, right before telex connects to it.
func (l guardedClient) checkAddress(network, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("judge %s: %w", network, err)
	}
	return l.guard.address(a)
}

// lookup returns an allowed address of the host. All addresses of the host must be allowed, because a public host has only
// public addresses.
func (l guardedClient) lookup(ctx context.Context, u *url.URL) (netip.Addr, error) {
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
		if !best.IsValid() || ip.Is4() { // every proxy can reach IPv4 addresses
			best = ip
		}
	}
	if !best.IsValid() {
		return netip.Addr{}, fmt.Errorf("look up %s: no address", u.Hostname())
	}
	return best, nil
}
