package tool

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"telex/agent"
)

// closedNetworks returns the networks that fetch must not reach: they are not public, or their addresses contain an IPv4
// address that may not be public. IPv4: https://www.iana.org/assignments/iana-ipv4-special-registry. IPv6:
// https://www.iana.org/assignments/iana-ipv6-special-registry.
func closedNetworks() []string {
	return []string{
		"0.0.0.0/8",        // the machine itself
		"10.0.0.0/8",       // private
		"100.64.0.0/10",    // carrier-grade NAT; Alibaba's metadata at 100.100.100.200
		"127.0.0.0/8",      // loopback
		"168.63.129.16/32", // Azure's host: https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
		"169.254.0.0/16",   // link-local; most clouds' metadata at 169.254.169.254
		"172.16.0.0/12",    // private
		"192.0.0.0/24",     // IETF protocols; Oracle's metadata at 192.0.0.192
		"192.0.2.0/24",     // documentation
		"192.88.99.0/24",   // 6to4 relays
		"192.168.0.0/16",   // private
		"198.18.0.0/15",    // benchmarks
		"198.51.100.0/24",  // documentation
		"203.0.113.0/24",   // documentation
		"224.0.0.0/4",      // multicast
		"240.0.0.0/4",      // reserved; broadcast
		"2001::/23",        // IETF protocols; Teredo, which has an IPv4 address inside
		"2001:db8::/32",    // documentation
		"2002::/16",        // 6to4, which has an IPv4 address inside
		"3fff::/20",        // documentation
	}
}

// global is the range of all public IPv6 addresses (https://www.iana.org/assignments/ipv6-address-space). The range excludes
// loopback, link-local, unique local and multicast addresses. global also excludes the mapped, compatible and NAT64
// addresses, which contain an IPv4 address.
const global = "2000::/3"

// guard decides which addresses fetch may connect to.
type guard struct {
	closed, open []netip.Prefix // open networks are allowed even inside closed ones
	global       netip.Prefix
}

func newGuard(open []netip.Prefix) guard {
	g := guard{open: open, global: netip.MustParsePrefix(global)}
	for _, network := range closedNetworks() {
		g.closed = append(g.closed, netip.MustParsePrefix(network))
	}
	return g
}

// refusal is the reason why the guard refuses an address. The model reads the refusal.
type refusal string

func (r refusal) Error() string { return string(r) }

// address checks an IP address before fetch connects to it. address refuses an address with a zone, because netip finds such
// an address in no network.
func (g guard) address(a netip.AddrPort) error {
	ip := a.Addr()
	if contains(g.open, ip) {
		return nil
	}
	public := ip.Is4() || ip.Is6() && g.global.Contains(ip)
	switch {
	case !public || contains(g.closed, ip):
		return refusal("this address is not on the public internet, and only that may be read")
	case a.Port() != 80 && a.Port() != 443:
		return refusal(fmt.Sprintf("port %d may not be reached, only 80 and 443", a.Port()))
	}
	return nil
}

func contains(networks []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// target checks a web address before its host is looked up, and returns the address in the form in which it is fetched.
func (g guard) target(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil:
		return nil, refusal("invalid URL")
	case len(address) > maxAddress:
		return nil, refusal(fmt.Sprintf("the address has %d bytes, and %d is the most", len(address), maxAddress))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, refusal("only http:// and https:// addresses can be read")
	case u.User != nil:
		return nil, refusal("addresses with a name or password in them are not read")
	case u.Hostname() == "":
		return nil, refusal("the address has no host")
	}
	if agent.NormalizeURL(u) != nil {
		return nil, refusal("invalid host name")
	}
	host, port := u.Hostname(), portOf(u)
	if ip, err := netip.ParseAddr(host); err == nil {
		if err := g.address(netip.AddrPortFrom(ip, port)); err != nil {
			return nil, err
		}
	} else if len(g.open) == 0 && port != 80 && port != 443 {
		return nil, refusal(fmt.Sprintf("port %d may not be reached, only 80 and 443", port))
	}
	return u, nil
}

// portOf returns the port of an address, or 0 if the port is invalid.
func portOf(u *url.URL) uint16 {
	usual := "443"
	if u.Scheme == "http" {
		usual = "80"
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), usual), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(port)
}
