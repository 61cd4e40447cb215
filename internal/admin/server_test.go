package admin

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const token = "0123456789abcdef"

// options returns the options of a healthy daemon.
func options() Options {
	return Options{
		Listen:  "127.0.0.1:0",
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("figures")) }),
		Alive:   func(context.Context) error { return nil },
		Ready: func() Readiness {
			return Readiness{Status: Ready, Endpoints: []Endpoint{{Name: "telegram", State: "connected"}, {Name: "discord", State: "retrying", Error: "no route"}}}
		},
		Status: func(context.Context) Status { return Status{Version: "1.2.3"} },
		Log:    slog.New(slog.DiscardHandler),
	}
}

func server(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(t *testing.T, s *Server, path string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:8643"+path, nil)
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, r)
	return w
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func host(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

func TestProbes(t *testing.T) {
	t.Parallel()
	o := options()
	s := server(t, o)
	if w := ask(t, s, "/healthz"); w.Code != http.StatusOK || w.Body.String() != "ok\n" {
		t.Errorf("healthz: %d %s", w.Code, w.Body)
	}
	w := ask(t, s, "/readyz")
	want := `{"status":"ready","endpoints":[{"name":"telegram","state":"connected"},{"name":"discord","state":"retrying","error":"no route"}]}` + "\n"
	if w.Code != http.StatusOK || w.Body.String() != want || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("readyz: %d %s", w.Code, w.Body)
	}
	o.Alive = func(context.Context) error { return errors.New("endpoint telegram: it hangs") }
	o.Ready = func() Readiness {
		return Readiness{Status: "failing", Endpoints: []Endpoint{{Name: "telegram", State: "stopped"}}}
	}
	s = server(t, o)
	if w := ask(t, s, "/healthz"); w.Code != http.StatusServiceUnavailable || w.Body.String() != "endpoint telegram: it hangs\n" {
		t.Errorf("healthz: %d %s", w.Code, w.Body)
	}
	if w := ask(t, s, "/readyz"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "stopped") {
		t.Errorf("readyz: %d %s", w.Code, w.Body)
	}
	if w := ask(t, s, "/metrics"); w.Code != http.StatusOK || w.Body.String() != "figures" {
		t.Errorf("metrics: %d %s", w.Code, w.Body)
	}
	if w := ask(t, s, "/healthz", func(r *http.Request) { r.Method = http.MethodPost }); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST /healthz: %d", w.Code)
	}
}

// If a token is configured, a request without the token gets no data. /healthz and /readyz respond to it only with a
// status.
func TestToken(t *testing.T) {
	t.Parallel()
	o := options()
	o.Token = token
	o.Alive = func(context.Context) error { return errors.New("the store hangs") }
	s := server(t, o)
	for _, way := range []struct {
		name   string
		change func(*http.Request)
		status int
	}{
		{"none", func(*http.Request) {}, http.StatusUnauthorized},
		{"wrong", bearer("0123456789abcdeg"), http.StatusUnauthorized},
		{"empty", bearer(""), http.StatusUnauthorized},
		{"prefix", bearer(token[:8]), http.StatusUnauthorized},
		{"right", bearer(token), http.StatusOK},
		{"right, by another name", func(r *http.Request) { bearer(token)(r); r.Host = "telex.example.org" }, http.StatusOK},
		{"in lower case", func(r *http.Request) { r.Header.Set("Authorization", "bearer "+token) }, http.StatusOK},
		{"cookie", func(r *http.Request) { r.AddCookie(s.cookie(time.Now())) }, http.StatusOK},
		{"old cookie", func(r *http.Request) { r.AddCookie(s.cookie(time.Now().Add(-cookieFor - time.Second))) }, http.StatusUnauthorized},
		{"prolonged cookie", func(r *http.Request) {
			c := s.cookie(time.Now().Add(-cookieFor - time.Second))
			_, code, _ := strings.Cut(c.Value, ".")
			c.Value = "99999999999." + code
			r.AddCookie(c)
		}, http.StatusUnauthorized},
		{"the token as a cookie", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookieName, Value: token}) }, http.StatusUnauthorized},
	} {
		if w := ask(t, s, "/metrics", way.change); w.Code != way.status {
			t.Errorf("%s: %d, want %d", way.name, w.Code, way.status)
		}
		told := way.status == http.StatusOK
		if w := ask(t, s, "/readyz", way.change); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "telegram") != told {
			t.Errorf("%s: readyz: %d %s", way.name, w.Code, w.Body)
		}
		if w := ask(t, s, "/healthz", way.change); w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), "store") != told {
			t.Errorf("%s: healthz: %d %s", way.name, w.Code, w.Body)
		}
	}
	if c := s.cookie(time.Now()); !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || strings.Contains(c.Value, token) {
		t.Errorf("cookie %v", c)
	}
}

// No token is configured, and a web page lets its host name point to this machine (DNS rebinding). The web page must
// get no data.
func TestForeignNames(t *testing.T) {
	t.Parallel()
	s := server(t, options())
	for name, status := range map[string]int{
		"localhost:8643": 200, "LOCALHOST": 200, "127.0.0.1": 200, "[::1]:8643": 200, "[::1]": 200,
		"evil.example:8643": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "": 421,
	} {
		for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
			if w := ask(t, s, path, host(name)); w.Code != status {
				t.Errorf("%s of %q: %d, want %d", path, name, w.Code, status)
			}
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	o := options()
	o.Token = token
	s := server(t, o)
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/nothing", "/"} {
		h := ask(t, s, path).Header()
		policy := h.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: policy %q", path, policy)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", path, h)
		}
	}
}

// Anybody may request a health check, and each check writes to the disk. Even many requests for health checks must
// cause at most one check per second.
func TestChecksAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		hang := make(chan struct{})
		c := newChecks(func(context.Context) error {
			if asked.Add(1) == 2 {
				<-hang
			}
			return nil
		})
		for range 100 {
			if err := c.check(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("%d checks", n)
		}
		time.Sleep(aliveFor)
		first := make(chan error)
		go func() { first <- c.check(t.Context()) }()
		synctest.Wait()
		if err := c.check(t.Context()); !errors.Is(err, errNoCheck) {
			t.Errorf("beside a check that hangs: %v", err)
		}
		close(hang)
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}

// Serve must answer requests until its context ends, even while a client does not read its response.
func TestServe(t *testing.T) {
	t.Parallel()
	o := options()
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	o.Token = token
	o.Alive = func(context.Context) error { panic("oops") }
	s := server(t, o)
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := server(t, Options{Listen: s.Address().String()})
	if err := second.Open(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "admin.listen: ") {
		t.Errorf("a taken address: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Serve(ctx) }()
	idle, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = idle.Close() }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(path string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Address().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if got := get("/healthz"); got != http.StatusInternalServerError {
		t.Errorf("a panic: %d", got)
	}
	if got := get("/metrics"); got != http.StatusUnauthorized {
		t.Errorf("after it: %d", got)
	}
	cancel()
	<-ended
	if strings.Contains(log.String(), token) || !strings.Contains(log.String(), "oops") {
		t.Errorf("log: %s", log.String())
	}
}
