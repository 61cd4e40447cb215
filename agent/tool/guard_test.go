package tool

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	g := newGuard([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32")})
	for _, ip := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255", "127.0.0.1", "127.9.9.9",
		"168.63.129.16", "169.254.169.254", "169.254.0.1", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1",
		"192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::8.8.8.8", "64:ff9b::808:808", "64:ff9b:1::7f00:1", "100::1",
		"fe80::1", "fe80::1%eth0", "2606:4700::1111%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "ff0e::1",
		"2001::1", "2001:0:53aa:64c::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::1", "3fff::1",
		"4000::1", "5f00::1",
	} {
		if g.address(netip.AddrPortFrom(netip.MustParseAddr(ip), 443)) == nil {
			t.Errorf("%s may be reached", ip)
		}
	}
	for _, ip := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
		"172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2606:4700:4700::1111", "2a00:1450:4001::1", "2001:200::1", "2001:4860:4860::8888", "2003::1", "3ffe::1",
	} {
		a := netip.MustParseAddr(ip)
		for port, want := range map[uint16]bool{80: true, 443: true, 22: false, 8080: false, 0: false} {
			if err := g.address(netip.AddrPortFrom(a, port)); (err == nil) != want {
				t.Errorf("%s port %d: %v", ip, port, err)
			}
		}
	}
	for ip, want := range map[string]bool{"10.1.2.3": true, "10.2.2.3": false, "fd00:1::5": true, "fd00:2::5": false, "fd00:1::5%eth0": false, "::ffff:10.1.2.3": false} {
		if err := g.address(netip.AddrPortFrom(netip.MustParseAddr(ip), 9000)); (err == nil) != want {
			t.Errorf("%s of an open network: %v", ip, err)
		}
	}
}

// TestPrivateAddressesInAnyFormAreRefused embeds private IPv4 addresses in every form of IPv6 address that can contain one.
func TestPrivateAddressesInAnyFormAreRefused(t *testing.T) {
	t.Parallel()
	g := newGuard(nil)
	rapid.Check(t, func(t *rapid.T) {
		v4 := rapid.SampledFrom([]uint32{0x7f000001, 0xa9fea9fe, 0x0a000000, 0xc0a80001, 0xac100001}).Draw(t, "address") + rapid.Uint32Range(0, 200).Draw(t, "more")
		var b4 [4]byte
		binary.BigEndian.PutUint32(b4[:], v4)
		plain := netip.AddrFrom4(b4)
		forms := []netip.Addr{plain, netip.AddrFrom16(plain.As16())}
		with := func(prefix string, at int) {
			b := netip.MustParseAddr(prefix).As16()
			copy(b[at:], b4[:])
			forms = append(forms, netip.AddrFrom16(b))
		}
		with("::", 12)               // IPv4-compatible
		with("64:ff9b::", 12)        // NAT64
		with("64:ff9b:1::", 12)      // local NAT64
		with("2002::", 2)            // 6to4
		with("2001::", 12)           // Teredo, with the bits of the IPv4 address not inverted
		with("2001:0:1:1::", 4)      // Teredo, in the address of the server
		with("::ffff:0:0:0", 12)     // IPv4-translated (SIIT)
		with("fe80::5efe:0:0", 12)   // ISATAP
		with("fd00:0:0:0::5efe", 12) // ISATAP
		for _, a := range forms {
			if g.address(netip.AddrPortFrom(a, 80)) == nil {
				t.Fatalf("%s may be reached", a)
			}
		}
	})
}

func TestTargets(t *testing.T) {
	t.Parallel()
	g := newGuard(nil)
	for _, tt := range []struct{ address, want string }{ // want: the resulting URL, or a part of the error
		{"https://example.org", "https://example.org/"},
		{" http://Example.ORG:80/a/../b?c=d#e ", "http://example.org/a/../b?c=d"},
		{"https://example.org.:443/", "https://example.org/"},
		{"https://bücher.example/straße", "https://xn--bcher-kva.example/stra%C3%9Fe"},
		{"http://8.8.8.8/", "http://8.8.8.8/"},
		{"http://[2606:4700:4700::1111]/", "http://[2606:4700:4700::1111]/"},
		{"https://example.org:80/", "https://example.org:80/"},
		{"ftp://example.org/", "only http:// and https://"},
		{"file:///etc/passwd", "only http:// and https://"},
		{"gopher://127.0.0.1:70/", "only http:// and https://"},
		{"//example.org/", "only http:// and https://"},
		{"example.org", "only http:// and https://"},
		{"", "only http:// and https://"},
		{"https://ada:pw@example.org/", "with a name or password"},
		{"https://example.org@127.0.0.1/", "with a name or password"},
		{"https:///a", "no host"},
		{"https://example.org:8080/", "port 8080"},
		{"http://example.org:22/", "port 22"},
		{"http://example.org:99999/", "port 0"},
		{"http://127.0.0.1/", "not on the public internet"},
		{"http://[::1]/", "not on the public internet"},
		{"http://[::ffff:8.8.8.8]/", "not on the public internet"},
		{"http://[fe80::1%25eth0]/", "not on the public internet"},
		{"http://169.254.169.254/latest/meta-data/", "not on the public internet"},
		{"http://exa mple.org/", "invalid URL"},
		{"http://%zz/", "invalid URL"},
		{"http://a_b\x00.org/", "invalid URL"},
		{"https://example.org/" + strings.Repeat("x", maxAddress), "bytes, and"},
	} {
		u, err := g.target(tt.address)
		switch {
		case err != nil && !strings.Contains(err.Error(), tt.want):
			t.Errorf("%q: %v, want %q", tt.address, err, tt.want)
		case err == nil && u.String() != tt.want:
			t.Errorf("%q: %s, want %q", tt.address, u, tt.want)
		}
	}
}

// FuzzTarget searches for an address that passes the check, or that changes when it is parsed again.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{"https://example.org/a?b#c", "http://[::1]:80/", "http://0x7f.1/", "http://2130706433/", "https://ß.example/%2e%2e/", "http://127.0.0.1./"} {
		f.Add(s)
	}
	g := newGuard(nil)
	f.Fuzz(func(t *testing.T, address string) {
		u, err := g.target(address)
		if err != nil {
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" {
			t.Errorf("%q became %q", address, u)
		}
		if p := portOf(u); p != 80 && p != 443 {
			t.Errorf("%q has port %d", address, p)
		}
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && g.address(netip.AddrPortFrom(ip, 80)) != nil {
			t.Errorf("%q got by", address)
		}
		again, err := g.target(u.String())
		if err != nil || again.Host != u.Host || again.RequestURI() != u.RequestURI() {
			t.Errorf("%q became %q, and that %q: %v", address, u, again, err)
		}
	})
}
