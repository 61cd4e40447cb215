package tool

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/standin/memnet"
)

// internet is a simulated internet for fetch. All hosts of the simulated internet use the same handler.
type internet struct {
	names    map[string]string // the address of each host
	listener *memnet.Listener

	mu    sync.Mutex
	dials []string // addresses of connection attempts
}

func (n *internet) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	var all []netip.Addr
	for ip := range strings.FieldsSeq(n.names[host]) {
		all = append(all, netip.MustParseAddr(ip))
	}
	if len(all) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return all, nil
}

// dial works like a net.Dialer: it looks the name up, and passes each address to the check.
func (n *internet) dial(ctx context.Context, network, address string, judge dialControl) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ips := []netip.Addr{}
	if ip, err := netip.ParseAddr(host); err == nil {
		ips = append(ips, ip)
	} else if ips, err = n.LookupNetIP(ctx, network, host); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	var refused error
	for _, ip := range ips {
		to := net.JoinHostPort(ip.String(), port)
		if judge != nil {
			if refused = judge(network, to, nil); refused != nil {
				continue
			}
		}
		n.mu.Lock()
		n.dials = append(n.dials, to)
		n.mu.Unlock()
		return n.listener.Dial(ctx, network, address)
	}
	return nil, &net.OpError{Op: "dial", Net: network, Err: refused}
}

func (n *internet) dialed() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.dials, " ")
}

// online runs f with fetch on a simulated internet, in virtual time.
func online(t *testing.T, names map[string]string, h http.HandlerFunc, f func(t *testing.T, def agent.ToolDef, n *internet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := &internet{names: names, listener: memnet.Listen()}
		server := &http.Server{Handler: h}
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(n.listener) }()
		def := fetchOn(t, n, nil)
		f(t, def, n)
		_ = server.Close()
		<-served
	})
}

func fetchOn(t *testing.T, n *internet, proxy func(*http.Request) (*url.URL, error), allow ...string) agent.ToolDef {
	t.Helper()
	if proxy == nil {
		proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	allowed, err := newDomains(allow)
	if err != nil {
		t.Fatal(err)
	}
	fetch := &fetch{agent: "telex/test", allowed: allowed, line: guardedClient{guard: newGuard(nil), resolver: n, proxy: proxy, dial: n.dial}}
	def, err := fetch.def()
	if err != nil {
		t.Fatal(err)
	}
	return def
}

func get(t *testing.T, def agent.ToolDef, address string) (string, error) {
	t.Helper()
	out, err := def.Call(t.Context(), agent.Input{Arguments: fmt.Sprintf(`{"url":%q}`, address)})
	return out.Text, err
}

// people is an address on the public internet.
const people = "93.184.215.14"

func TestFetchRefusesPrivateAddresses(t *testing.T) {
	names := map[string]string{
		"example.org": people, "inside.test": "10.0.0.5", "localhost": "127.0.0.1", "six.test": "::1",
		"both.test": "127.0.0.1 " + people, "nat.test": "64:ff9b::7f00:1", "metadata.test": "169.254.169.254",
	}
	h := func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		fmt.Fprint(w, "secrets of ", r.Host)
	}
	refused := "this address is not on the public internet, and only that may be read"
	online(t, names, h, func(t *testing.T, _ agent.ToolDef, n *internet) {
		def := fetchOn(t, n, nil, "*.test", "localhost") // so that redirects to these hosts are followed, and their addresses are checked
		for _, address := range []string{
			"http://inside.test/", "http://localhost/", "http://six.test/", "http://nat.test/", "http://metadata.test/latest/meta-data/",
			"http://127.0.0.1/", "http://169.254.169.254/", "https://[::1]/",
			"http://example.org/?to=http://169.254.169.254/latest/meta-data/", "http://example.org/?to=http://localhost/",
			"http://example.org/?to=http://metadata.test/", "http://example.org/?to=//inside.test/",
			"http://example.org/?to=http://example.org/%3Fto%3Dhttp://six.test/",
		} {
			text, err := get(t, def, address)
			if err == nil || !strings.Contains(err.Error(), refused) {
				t.Errorf("%s: %q, %v", address, text, err)
			}
		}
		for to, want := range map[string]string{
			"file:///etc/passwd": "only http:// and https://", "http://example.org:8080/": "port 8080", "http://a:b@example.org/": "name or password",
			"http://nobody.test/": "no such host",
		} {
			if _, err := get(t, def, "http://example.org/?to="+url.QueryEscape(to)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("to %s: %v", to, err)
			}
		}
		for address := range strings.FieldsSeq(n.dialed()) {
			if address != people+":80" {
				t.Errorf("%s was dialed", address)
			}
		}
		if text, err := get(t, def, "http://both.test/"); err != nil || !strings.Contains(text, "secrets of both.test") || strings.Contains(n.dialed(), "127.") {
			t.Errorf("a host with a public address too: %q, %v, dialed %s", text, err, n.dialed())
		}
	})
}

// TestFetchDoesNotReachThisMachine uses real sockets and real names.
func TestFetchDoesNotReachThisMachine(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") }))
	defer server.Close()
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]
	// The open network allows every port, so only the address can be the reason for a refusal.
	def, err := newFetch(FetchOptions{
		Open:  []netip.Prefix{netip.MustParsePrefix("10.99.0.0/16")},
		Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0"} {
		if text, err := get(t, def, "http://"+host+port); err == nil {
			t.Errorf("%s: %q", host, text)
		}
	}
}

func TestFetchReachesOpenNetworks(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s asks with %q and %q", r.UserAgent(), r.Header.Get("Cookie"), r.Header.Get("Referer"))
	}))
	defer server.Close()
	tools, err := New(Options{Enabled: []string{Fetch}, Fetch: FetchOptions{
		Open: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, UserAgent: "telex/1.0",
		Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := get(t, tools[0], server.URL)
	if err != nil || !strings.HasSuffix(text, `telex/1.0 asks with "" and ""`) {
		t.Errorf("%q, %v", text, err)
	}
}

func TestFetchRedirects(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		var left int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &left); err == nil && left > 0 {
			w.Header().Set("Location", fmt.Sprintf("//%d.example.org/%d", left, left-1))
			w.WriteHeader(http.StatusPermanentRedirect)
			return
		}
		if r.URL.Path == "/nowhere" {
			w.WriteHeader(http.StatusFound)
			return
		}
		fmt.Fprint(w, "arrived")
	}
	names := map[string]string{"example.org": people}
	for i := range 10 {
		names[fmt.Sprintf("%d.example.org", i)] = people
	}
	online(t, names, h, func(t *testing.T, _ agent.ToolDef, n *internet) {
		def := fetchOn(t, n, nil, "*.example.org")
		var steps []string
		out, err := def.Call(t.Context(), agent.Input{
			Arguments: `{"url":"http://example.org/5"}`, Progress: func(s string) { steps = append(steps, s) },
		})
		if err != nil || out.Text != "http://1.example.org/0 (text/plain)\n\narrived" {
			t.Errorf("%q, %v", out.Text, err)
		}
		if len(steps) != 5 || steps[0] != "Reading 5.example.org" {
			t.Errorf("the progress was %q", steps)
		}
		if _, err := get(t, def, "http://example.org/6"); err == nil || err.Error() != "read 2.example.org: more than 5 redirects" {
			t.Errorf("%v", err)
		}
		if _, err := get(t, def, "http://example.org/nowhere"); err == nil || !strings.Contains(err.Error(), "redirects to an invalid URL") {
			t.Errorf("%v", err)
		}
	})
}

func TestFetchIsBounded(t *testing.T) {
	var sent int
	h := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		line := []byte(strings.Repeat("0123456789abcde\n", 64))
		switch r.URL.Path {
		case "/huge":
			for sent = 0; sent < 1<<30; sent += len(line) {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 1 << 20 {
				if _, err := z.Write(line); err != nil {
					return
				}
			}
		case "/drip":
			for range 1000 {
				if _, err := w.Write([]byte("x")); err != nil || http.NewResponseController(w).Flush() != nil {
					return
				}
				time.Sleep(time.Second)
			}
		case "/silent":
			<-r.Context().Done()
		case "/header":
			for i := range 10_000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), "0123456789")
			}
		case "/broken":
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(line[:10])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	online(t, map[string]string{"example.org": people}, h, func(t *testing.T, def agent.ToolDef, _ *internet) {
		text, err := get(t, def, "http://example.org/huge")
		if err != nil || len(text) > maxTextPerCall+200 || !strings.Contains(text, "[These were bytes 0 to 40960 of 2097151. Call again with \"from\": 40960 to go on.]") {
			t.Errorf("huge: %d bytes, %v: …%s", len(text), err, text[max(0, len(text)-200):])
		}
		if sent > 4*maxRead {
			t.Errorf("%d bytes were sent", sent)
		}
		out, err := def.Call(t.Context(), agent.Input{Arguments: `{"url":"http://example.org/huge","from":2090000}`})
		if err != nil || !strings.Contains(out.Text, "[These were bytes 2090000 to 2097151 of 2097151.]") || !strings.Contains(out.Text, "only the first 2 MiB were read") {
			t.Errorf("the end: %v: …%s", err, out.Text[max(0, len(out.Text)-200):])
		}
		if text, err := get(t, def, "http://example.org/bomb"); err != nil || len(text) > maxTextPerCall+200 {
			t.Errorf("bomb: %d bytes, %v", len(text), err)
		}
		for _, path := range []string{"/drip", "/silent"} {
			begun := time.Now()
			_, err = get(t, def, "http://example.org"+path)
			if err == nil || err.Error() != "read example.org: it took longer than 20 seconds" || time.Since(begun) != fetchTime {
				t.Errorf("%s: after %s: %v", path, time.Since(begun), err)
			}
		}
		if _, err := get(t, def, "http://example.org/header"); err == nil || !strings.Contains(err.Error(), "header") {
			t.Errorf("header: %v", err)
		}
		if _, err := get(t, def, "http://example.org/broken"); err == nil || !strings.Contains(err.Error(), "it broke off after 10 bytes") {
			t.Errorf("broken: %v", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		cancel(stopped)
		if _, err := def.Call(ctx, agent.Input{Arguments: `{"url":"http://example.org/silent"}`}); !errors.Is(err, stopped) {
			t.Errorf("stopped: %v", err)
		}
	})
}

// ending is a body that ends without an error when its reader gives up. The response of a server over TLS may also end without
// an error when the server notices that the reader gives up.
type ending struct{ giveUp func() }

func (e ending) Read([]byte) (int, error) {
	e.giveUp()
	return 0, io.EOF
}

func TestPageIsIncompleteAfterATimeout(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	body := io.MultiReader(strings.NewReader("The beginning"), ending{func() { cancel(errSlow) }})
	res := &http.Response{Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(body)}
	if got, err := readBody(ctx, res); !errors.Is(err, errSlow) {
		t.Errorf("got %q and the error %v, want that it took too long", got.body, err)
	}
}

func TestFetchMediaTypes(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		if kind := r.URL.Query().Get("kind"); kind != "-" {
			w.Header().Set("Content-Type", kind)
		} else {
			w.Header()["Content-Type"] = nil
		}
		body, err := url.QueryUnescape(r.URL.Query().Get("body"))
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, body)
	}
	online(t, map[string]string{"example.org": people}, h, func(t *testing.T, def agent.ToolDef, _ *internet) {
		for _, tt := range []struct{ kind, body, text, err string }{
			{"text/plain", "a tide", "(text/plain)\n\na tide", ""},
			{"application/json; charset=utf-8", `{"a": 1}`, "(application/json)\n\n{\"a\": 1}", ""},
			{"application/activity+json", `{}`, "(application/activity+json)\n\n{}", ""},
			{"text/markdown", "# A\n*b*", "(text/markdown)\n\n# A\n*b*", ""},
			{"application/rss+xml", "<rss/>", "(application/rss+xml)\n\n<rss/>", ""},
			{"text/plain; charset=iso-8859-1", "caf\xe9", "café", ""},
			{"text/plain; charset=windows-1251", "\xcf\xf0\xe8\xe2\xe5\xf2", "Привет", ""},
			{"text/html; charset=shift_jis", "<p>\x93\xfa\x96{", "日本", ""},
			{"text/html", "<meta charset=koi8-r><p>\xf0\xd2\xc9\xd7\xc5\xd4", "Привет", ""},
			{"text/plain", "\xef\xbb\xbfmarked", ")\n\nmarked", ""},
			{"text/plain", "a\x1b[31m\u202eb\U000E0041c", "a[31mbc", ""},
			{"-", "<html><p>guessed", "(text/html)\n\nguessed", ""},
			{"-", "\x89PNG\r\n\x1a\n", "", "it is of the type image/png, which is not text"},
			{"application/pdf", "%PDF", "", "it is of the type application/pdf, which is not text"},
			{"image/svg+xml", "<svg/>", "", "it is of the type image/svg+xml, which is not text"},
			{"application/octet-stream", "x", "", "it is of the type application/octet-stream"},
			{"video/mp4\n; x", "x", "", "it is of the type"},
			{"text/plain", "a\x00b", "", "it claims to be text, and is binary"},
			{"text/html", "", "[There is no text.]", ""},
		} {
			text, err := get(t, def, "http://example.org/?kind="+url.QueryEscape(tt.kind)+"&body="+url.QueryEscape(url.QueryEscape(tt.body)))
			switch {
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("%s %q: %q, %v, want %s", tt.kind, tt.body, text, err, tt.err)
			case tt.err == "" && (err != nil || !strings.HasSuffix(text, tt.text)):
				t.Errorf("%s %q: %q, %v, want …%q", tt.kind, tt.body, text, err, tt.text)
			}
		}
	})
}

func TestFetchStatus(t *testing.T) {
	h := func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) }
	online(t, map[string]string{"example.org": people}, h, func(t *testing.T, def agent.ToolDef, _ *internet) {
		if _, err := get(t, def, "http://example.org/"); err == nil || err.Error() != "read example.org: the server answered 404 Not Found" {
			t.Errorf("%v", err)
		}
		for _, arguments := range []string{`{}`, `{"url":1}`, `{"url":"http://example.org/","from":-1}`, `{"url":"http://example.org/","x":1}`, `[]`} {
			if _, err := def.Call(t.Context(), agent.Input{Arguments: arguments}); err == nil || !strings.Contains(err.Error(), "arguments") {
				t.Errorf("%s: %v", arguments, err)
			}
		}
	})
}

// fetch asks the proxy to connect to an IP address that fetch itself has checked, never to a host name.
func TestFetchBehindAProxy(t *testing.T) {
	t.Parallel()
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s for %s", r.Host, r.TLS.ServerName)
	}))
	site.StartTLS()
	defer site.Close()
	pool := x509.NewCertPool()
	pool.AddCert(site.Certificate())
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %t", secure), func(t *testing.T) {
			var asked []string
			proxy := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.Method+" "+r.Host)
				tunnel(t, w, site.Listener.Addr().String())
			}))
			if secure {
				proxy.StartTLS()
			} else {
				proxy.Start()
			}
			defer proxy.Close()
			n := &internet{names: map[string]string{"example.com": people, "inside.example.com": "192.168.0.1", "mixed.example.com": people + " 127.0.0.1"}}
			f := &fetch{agent: "telex", line: guardedClient{
				guard: newGuard(nil), resolver: n, dial: dialTCP, tls: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
				proxy: func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) },
			}}
			def, err := f.def()
			if err != nil {
				t.Fatal(err)
			}
			if text, err := get(t, def, "https://example.com/a"); err != nil || !strings.HasSuffix(text, "example.com for example.com") {
				t.Errorf("%q, %v", text, err)
			}
			if want := "CONNECT " + people + ":443"; len(asked) != 1 || asked[0] != want {
				t.Errorf("the proxy was asked for %q, want %q", asked, want)
			}
			for address, want := range map[string]string{
				"https://inside.example.com/": "not on the public internet", "https://mixed.example.com/": "not on the public internet",
				"https://127.0.0.1/": "not on the public internet", "https://nobody.example.com/": "no such host",
				"http://example.com/": "only https://",
			} {
				if _, err := get(t, def, address); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v", address, err)
				}
			}
			if len(asked) != 1 {
				t.Errorf("the proxy was asked for %q", asked)
			}
		})
	}
}

// tunnel connects a proxy's client with a server until one of them closes.
func tunnel(t *testing.T, w http.ResponseWriter, to string) {
	t.Helper()
	there, err := net.Dial("tcp", to)
	if err != nil {
		t.Error(err)
		return
	}
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(there, buffered)
		_ = there.Close()
	})
	_, _ = io.Copy(here, there)
	_ = here.Close()
	both.Wait()
}

func TestShowFetch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ arguments, want string }{
		{``, ""},
		{`{"ur`, ""},
		{`{"url":"https://exam`, ""},
		{`{"url":"https://example.org`, ""},
		{`{"url":"https://example.org/`, "Reading example.org"},
		{`{"url":"https://example.org"`, "Reading example.org"},
		{`{"url":"https:\/\/www.Example.org\/a\u00`, "Reading example.org"},
		{`{"from":3,"url":"http://example.org?q`, "Reading example.org"},
		{`{"x":{"url":"http://evil.org/"},"url":"http://example.org/"}`, "Reading example.org"},
		{`{"url":"nonsense"}`, ""},
	} {
		if got := showFetch(tt.arguments); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.arguments, got, tt.want)
		}
	}
}

func TestProposeFetch(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://evil.org/?a=b":           "https://evil.org/?a=b",
		"https://evil.org/?a= b ":         "https://evil.org/?a=%20b",
		"https://evil.org/a\u200bb":       "https://evil.org/a%E2%80%8Bb",
		"https://evil.org/?a\u200b\u2060": "https://evil.org/?a\u200b\u2060", // the agent shows these characters by their numbers
		"https://b\u00fccher.example":     "https://xn--bcher-kva.example/",
		"https://evil.org/x  y#z":         "https://evil.org/x%20%20y",
		"nonsense":                        "nonsense",
	} {
		f := fetch{line: guardedClient{guard: newGuard(nil)}}
		arguments := fmt.Sprintf(`{"url":%q}`, address)
		if got := f.propose(arguments); got != "Read "+want+", an address that you did not type here" {
			t.Errorf("%q is proposed as %q", address, got)
		}
	}
}

// fetch follows redirects only within a site and to domains in AllowDomains, because nobody typed or approved a URL of
// another site.
func TestRedirectsStayOnTheSite(t *testing.T) {
	names := map[string]string{"listed.org": people, "www.listed.org": people, "a.listed.net": people, "b.listed.net": people, "evil.org": people, "www.evil.org": people}
	handler := func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		fmt.Fprintf(w, "%s has this", r.Host)
	}
	online(t, names, handler, func(t *testing.T, _ agent.ToolDef, n *internet) {
		def := fetchOn(t, n, nil, "listed.org", "*.listed.net")
		for address, want := range map[string]string{
			"http://listed.org/?to=http://www.listed.org/":     "www.listed.org has this",
			"http://listed.org/?to=http://a.listed.net/":       "a.listed.net has this",
			"http://a.listed.net/?to=http://b.listed.net/":     "b.listed.net has this",
			"http://evil.org/?to=http://listed.org/":           "listed.org has this",
			"http://evil.org/?to=http://b.org/?m=secret":       "evil.org redirects to http://b.org/?m=secret, which is another site",
			"http://evil.org/?to=http://a.evil.org/":           "evil.org redirects to http://a.evil.org/, which is another site",
			"http://evil.org/?to=http://www.evil.org/":         "www.evil.org has this",
			"http://listed.org/?to=http://evil.org/?m=secret":  "listed.org redirects to http://evil.org/?m=secret, which is another site",
			"http://a.listed.net/?to=http://evil.org/":         "a.listed.net redirects to http://evil.org/, which is another site",
			"http://listed.org/?to=/%3Fto=http://evil.org/%2F": "listed.org redirects to http://evil.org/",
		} {
			text, err := get(t, def, address)
			if got := fmt.Sprint(text, err); !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", address, got, want)
			}
		}
	})
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	u, err := url.Parse("https://example.org/a/page.html")
	if err != nil {
		t.Fatal(err)
	}
	paragraph := "<p>" + strings.Repeat("The tide goes out, and comes in again, as the moon wants it. ", 8) + "</p>"
	page := `<html><head><title>Tides &amp; moons</title><style>p{}</style></head><body>
		<nav><a href="/home">Home</a> <a href="/news">News</a></nav><script>alert(1)</script>
		<article><h1>Tides &amp; moons</h1>` + paragraph + `<p>See <a href="../moon">the moon</a>, <b>soon</b>, <img alt="a picture" src="data:image/png;base64,AAAA"> in <code>code</code>.</p>
		<ul><li>one<li>two</ul><table><tr><th>a<th>b<tr><td>1<td>2</table><pre>x
  y</pre>` + paragraph + `</article><!-- a secret instruction --><p hidden>another</p><footer>Imprint</footer></body></html>`
	got, err := answer{mediaType: "text/html", body: []byte(page)}.text(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Tides & moons\n\n", "[the moon](https://example.org/moon)", "**soon**", "- one\n- two", "| 1", "```\nx\n  y\n```", "`code`"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q", want)
		}
	}
	for _, not := range []string{"alert", "base64", "secret instruction", "another", "p{}"} {
		if strings.Contains(got, not) {
			t.Errorf("there is %q", not)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
	small, err := answer{mediaType: "text/html", body: []byte(`<title>S</title><body><div><a href="/x">only links</a></div>`)}.text(t.Context(), u)
	if err != nil || small != "# S\n\n[only links](https://example.org/x)" {
		t.Errorf("a page without an article: %q, %v", small, err)
	}
}

// TestHostilePagesAreReadFast reads large pages that are designed to be slow to parse.
func TestHostilePagesAreReadFast(t *testing.T) {
	t.Parallel()
	u, err := url.Parse("https://example.org/")
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []string{
		"<div>", "<b><p></b>", "<table><tr><td>", "<p>hello, world, with commas</p>", `<a href="/x">y</a>`, "x<br>", "*_[x](y)", "<!--",
		"<tr><td colspan=1000 rowspan=1000>x",
	} {
		begun := time.Now()
		size := maxRead / 8 // not the whole size, because the race detector makes this slow
		body := "<body><table>" + strings.Repeat(piece, size/len(piece))
		_, _ = answer{mediaType: "text/html", charset: "utf-8", body: []byte(body)}.text(t.Context(), u) // an error is accepted, too
		if took := time.Since(begun); took > time.Minute {                                               // parsing takes about a second on an idle machine
			t.Errorf("%s took %s", piece, took)
		}
	}
	// For each piece of text, the parser copies all earlier text, so this page would take very long. The end of the context must
	// stop the parser.
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errSlow)
	defer cancel()
	body := []byte("<body>" + strings.Repeat("<td>a", maxRead/5))
	if _, err := (answer{mediaType: "text/html", charset: "utf-8", body: body}).text(ctx, u); !errors.Is(err, errSlow) {
		t.Errorf("%v", err)
	}
}

func FuzzPage(f *testing.F) {
	for _, s := range []string{"<p>a", "<table><tr><td>x<td colspan=99999999>y", "<a href='%zz'>x</a>", "<pre><code>```", "<ol start=9999999999><li>x"} {
		f.Add("text/html", "", []byte(s))
	}
	f.Add("text/html", "utf-16", []byte("\xff\xfe<\x00p\x00"))
	f.Add("text/plain", "gbk", []byte("\x81\x30\x81"))
	u, err := url.Parse("https://example.org/a")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, mediaType, charset string, body []byte) {
		a := answer{mediaType: mediaType, charset: charset, body: body}
		out, err := a.output(t.Context(), u, 0)
		if err != nil {
			return
		}
		if len(out.Text) > maxTextPerCall+1000+len(mediaType) || bytes.ContainsAny([]byte(strings.TrimPrefix(out.Text, "https://example.org/a ("+mediaType)), "\x00\x1b") {
			t.Errorf("%d bytes", len(out.Text))
		}
	})
}
