package host_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/host"
	"telex/standin/memnet"
)

// site is a small stand-in. A request for /wait blocks until the host cuts the request. A request for /cut cuts all
// other requests. The site answers requests for other paths at once.
type site struct{ host *host.Host }

func newSite() *site {
	s := &site{}
	s.host = host.New(s, slog.New(slog.DiscardHandler))
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cut, down := s.host.Enter()
	defer s.host.Leave()
	if down || r.URL.Path == "/wait" && !host.Pause(time.Hour, cut) {
		panic(http.ErrAbortHandler)
	}
	if r.URL.Path == "/cut" {
		s.host.Drop(s.host.Cut(host.Conn(r)))
	}
	_, _ = fmt.Fprint(w, "answered")
}

// get makes a GET request, and reports whether a response arrived.
func get(t *testing.T, client *http.Client, url string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	return res.StatusCode == http.StatusOK
}

// over runs a test with a site on an in-memory network, in virtual time.
func over(t *testing.T, test func(t *testing.T, s *site, client *http.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, l := newSite(), memnet.Listen()
		served := make(chan error, 1)
		go func() { served <- s.host.Serve(l) }()
		client := &http.Client{Transport: &http.Transport{DialContext: l.Dial}}
		test(t, s, client)
		if err := s.host.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve after Close: got %v, want nil", err)
		}
		client.CloseIdleConnections()
	})
}

func TestCut(t *testing.T) {
	over(t, func(t *testing.T, s *site, client *http.Client) {
		for _, tc := range []struct {
			name string
			cut  func() []net.Conn
		}{
			{"cut", func() []net.Conn { return s.host.Cut(nil) }},
			{"restart", func() []net.Conn { return s.host.Restart(time.Minute, nil) }},
			{"end", func() []net.Conn { s.host.End(); return nil }},
		} {
			waited := make(chan bool, 1)
			go func() { waited <- get(t, client, "http://site/wait") }()
			synctest.Wait()
			s.host.Drop(append(tc.cut(), nil))
			if <-waited {
				t.Errorf("%s: what was in flight was answered", tc.name)
			}
			if up := get(t, client, "http://site/"); up != (tc.name == "cut") {
				t.Errorf("after %s: answered is %v", tc.name, up)
			}
			time.Sleep(time.Minute)
			if up := get(t, client, "http://site/"); up != (tc.name != "end") {
				t.Errorf("a minute after %s: answered is %v", tc.name, up)
			}
		}
	})
}

// A request makes the site cut all other requests. The test checks that this request still gets a response, and that
// another running request gets none.
func TestCutSparesItsCaller(t *testing.T) {
	over(t, func(t *testing.T, _ *site, client *http.Client) {
		waited := make(chan bool, 1)
		go func() { waited <- get(t, client, "http://site/wait") }()
		synctest.Wait()
		if !get(t, client, "http://site/cut") {
			t.Error("who asked for the cut got no answer")
		}
		if <-waited {
			t.Error("what was in flight was answered")
		}
	})
}

// An http.Server uses the site as its handler, so the host does not manage the connection of the request. The test
// checks that a request that cuts all others gets a response in this case, too.
func TestForeignServer(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(newSite())
	defer srv.Close()
	if !get(t, srv.Client(), srv.URL+"/cut") {
		t.Error("no answer")
	}
}

func TestRefuse(t *testing.T) {
	t.Run("in memory", func(t *testing.T) {
		over(t, func(t *testing.T, s *site, client *http.Client) {
			s.host.Refuse(time.Now().Add(time.Minute))
			client.CloseIdleConnections()
			if get(t, client, "http://site/") {
				t.Error("answered")
			}
			time.Sleep(time.Minute)
			if !get(t, client, "http://site/") {
				t.Error("a minute later: no answer")
			}
		})
	})
	t.Run("tcp", func(t *testing.T) {
		t.Parallel()
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s, served := newSite(), make(chan error, 1)
		go func() { served <- s.host.Serve(l) }()
		client, url := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, "http://"+l.Addr().String()
		if !get(t, client, url) {
			t.Error("no answer at first")
		}
		s.host.Refuse(time.Now().Add(time.Hour))
		if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("while it refuses: got %v, want %v", err, syscall.ECONNREFUSED)
		}
		s.host.Refuse(time.Time{})
		for end := time.Now().Add(time.Minute); !get(t, client, url); {
			if time.Now().After(end) {
				t.Fatal("the door never opened again")
			}
		}
		if err := errors.Join(s.host.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
}

// The test checks that Close waits for work that Go has started, and that Go and Serve start nothing after Close.
func TestGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, done := newSite(), false
		s.host.Go(func() { time.Sleep(time.Minute); done = true })
		if err := s.host.Close(); err != nil || !done || !s.host.Ended() {
			t.Errorf("Close: %v, done is %v, ended is %v", err, done, s.host.Ended())
		}
		s.host.Go(func() { t.Error("work began after Close") })
		synctest.Wait()
		if err := s.host.Serve(memnet.Listen()); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: got %v, want %v", err, http.ErrServerClosed)
		}
	})
}
