package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"telex/agent"
	"telex/standin/memnet"
)

const address = "http://mcp.test/mcp?token=query-secret"

// site is an in-memory HTTP server whose handler can be replaced.
type site struct {
	handler atomic.Pointer[http.Handler]
}

func (s *site) set(h http.Handler) { s.handler.Store(&h) }

// fresh returns the handler of a new server, which knows no session.
func fresh(t *testing.T, options *sdk.StreamableHTTPOptions) http.Handler {
	t.Helper()
	server := newTestServer()
	t.Cleanup(func() {
		for session := range server.Sessions() {
			_ = session.Close()
		}
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, options)
}

// onSite runs f with a client of an HTTP server, in virtual time.
func onSite(t *testing.T, config Server, made func(*testing.T) http.Handler, f func(t *testing.T, c *Client, s *site, log *said)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &site{}
		s.set(made(t))
		l := memnet.Listen()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*s.handler.Load()).ServeHTTP(w, r) })}
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(l) }()
		transport := &http.Transport{DialContext: l.Dial}
		log := &said{}
		config.Name = "it"
		if config.URL == "" {
			config.URL = address
		}
		c, err := New(Options{Servers: []Server{config}, Transport: transport, Log: log.logger()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		time.Sleep(time.Second)
		f(t, c, s, log)
		cancel()
		<-done
		transport.CloseIdleConnections()
		_ = server.Close()
		<-served
		for _, secret := range []string{"query-secret", "header-secret"} {
			if strings.Contains(log.String(), secret) {
				t.Errorf("the log has %s:\n%s", secret, log)
			}
		}
	})
}

// plainSite returns a typical server.
func plainSite(t *testing.T) http.Handler { return fresh(t, nil) }

// protocols are the variants of the protocol that a server can use.
func protocols() map[string]*sdk.StreamableHTTPOptions {
	return map[string]*sdk.StreamableHTTPOptions{
		"sessions": nil, "stateless": {Stateless: true}, "plain JSON": {JSONResponse: true},
	}
}

func TestHTTP(t *testing.T) {
	for name, options := range protocols() {
		t.Run(name, func(t *testing.T) {
			guarded := func(t *testing.T) http.Handler {
				inner := fresh(t, options)
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("Authorization") != "Bearer header-secret" {
						http.Error(w, "who are you?", http.StatusUnauthorized)
						return
					}
					inner.ServeHTTP(w, r)
				})
			}
			onSite(t, Server{Headers: map[string]string{"Authorization": "Bearer header-secret"}}, guarded,
				func(t *testing.T, c *Client, _ *site, _ *said) {
					if got := call(t, find(t, c, "it_echo"), `{"a":1}`).Text; got != `{"a":1}` {
						t.Errorf("echo: %q", got)
					}
					if got := call(t, find(t, c, "it_progress"), `{}`).Text; got != "done" {
						t.Errorf("progress: %q", got)
					}
				})
		})
	}
}

func TestHTTPRefused(t *testing.T) {
	h := func(*testing.T) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you?", http.StatusUnauthorized) })
	}
	onSite(t, Server{Headers: map[string]string{"X-Key": "header-secret"}}, h, func(t *testing.T, c *Client, _ *site, _ *said) {
		if st := c.Status()[0]; st.Connected || !strings.Contains(st.Err, "Unauthorized") {
			t.Errorf("it is %+v", st)
		}
	})
}

// The server restarts and forgets all sessions, so it refuses a call in the old session. The client must repeat the call in a
// new session.
func TestHTTPServerRestarts(t *testing.T) {
	onSite(t, Server{}, plainSite, func(t *testing.T, c *Client, s *site, log *said) {
		echo := find(t, c, "it_echo")
		s.set(fresh(t, nil))
		if out, err := echo.Call(t.Context(), agent.Input{Arguments: `{"a":1}`}); err != nil || out.Text != `{"a":1}` {
			t.Errorf("%q, %v\n%s", out.Text, err, log)
		}
	})
}

// Many servers answer with 400 instead of 404 if they do not know the session. After such an answer, the first call fails, but
// later calls succeed.
func TestHTTPServerAnswersUnknownSessionWith400(t *testing.T) {
	impolite := func(t *testing.T) http.Handler {
		inner := fresh(t, nil)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := &recorder{ResponseWriter: w}
			inner.ServeHTTP(rec, r)
		})
	}
	onSite(t, Server{}, impolite, func(t *testing.T, c *Client, s *site, log *said) {
		echo := find(t, c, "it_echo")
		s.set(impolite(t))
		if _, err := echo.Call(t.Context(), agent.Input{Arguments: `{}`}); err == nil {
			t.Error("the first call can't have been answered")
		}
		time.Sleep(5 * time.Second)
		if _, err := echo.Call(t.Context(), agent.Input{Arguments: `{}`}); err != nil {
			t.Errorf("%v\n%s", err, log)
		}
	})
}

// recorder replaces the status 404 by 400.
type recorder struct{ http.ResponseWriter }

func (r *recorder) WriteHeader(status int) {
	if status == http.StatusNotFound {
		status = http.StatusBadRequest
	}
	r.ResponseWriter.WriteHeader(status)
}
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
func (r *recorder) Flush()                      { r.ResponseWriter.(http.Flusher).Flush() }

func TestHTTPServerThatIsDown(t *testing.T) {
	onSite(t, Server{}, plainSite, func(t *testing.T, c *Client, s *site, _ *said) {
		env := find(t, c, "it_env")
		s.set(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		_, err := env.Call(t.Context(), agent.Input{Arguments: `{}`})
		if err == nil || !strings.Contains(err.Error(), "not known") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Minute)
		s.set(fresh(t, nil))
		time.Sleep(2 * longestPause)
		if _, err := env.Call(t.Context(), agent.Input{Arguments: `{}`}); err != nil {
			t.Errorf("it did not come back: %v", err)
		}
	})
}

// When the client requests the stream of the server's own messages, the server sends no header before its first message. The
// client must stay connected.
func TestHTTPStreamWithoutAHeader(t *testing.T) {
	h := func(t *testing.T) http.Handler {
		inner := fresh(t, nil)
		return legacyOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				<-r.Context().Done()
				return
			}
			inner.ServeHTTP(w, r)
		}))
	}
	onSite(t, Server{}, h, func(t *testing.T, c *Client, _ *site, log *said) {
		time.Sleep(2 * streamWait)
		if !c.Status()[0].Connected {
			t.Fatalf("it is %+v\n%s", c.Status(), log)
		}
		call(t, find(t, c, "it_echo"), `{}`)
	})
}

// legacyOnly returns the handler of a server that supports only protocol versions before 2026-07-28. Such a server sends its
// own messages in the response to a separate GET request.
func legacyOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || strings.Contains(string(body), "server/discover") {
			http.Error(w, "what?", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		h.ServeHTTP(w, r)
	})
}

func TestHTTPToolListChanges(t *testing.T) {
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"old": legacyOnly, "new": func(h http.Handler) http.Handler { return h },
	} {
		t.Run(name, func(t *testing.T) {
			onSite(t, Server{}, func(t *testing.T) http.Handler { return wrap(fresh(t, nil)) }, func(t *testing.T, c *Client, _ *site, log *said) {
				call(t, find(t, c, "it_grow"), `{}`)
				time.Sleep(5 * time.Second)
				if !strings.Contains(strings.Join(toolNames(c), " "), "it_grown") {
					t.Errorf("the tools are %q\n%s", toolNames(c), log)
				}
			})
		})
	}
}

func TestHTTPAnswersAreBounded(t *testing.T) {
	h := func(t *testing.T) http.Handler {
		inner := fresh(t, &sdk.StreamableHTTPOptions{JSONResponse: true})
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err == nil && strings.Contains(string(body), "tools/call") {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`))
				for range maxMessage >> 10 {
					if _, err := w.Write([]byte(strings.Repeat("x", 2<<10))); err != nil {
						return
					}
				}
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			inner.ServeHTTP(w, r)
		})
	}
	onSite(t, Server{}, h, func(t *testing.T, c *Client, _ *site, _ *said) {
		_, err := find(t, c, "it_echo").Call(t.Context(), agent.Input{Arguments: `{}`})
		if err == nil || !strings.Contains(err.Error(), "message exceeds 6 MiB") {
			t.Errorf("a huge answer was taken: %v", err)
		}
	})
}

func TestHTTPRedirects(t *testing.T) {
	for _, tt := range []struct {
		name, to string
		status   int
		works    bool
	}{
		{"to another path", "http://mcp.test/other/", http.StatusTemporaryRedirect, true},
		{"to another host", "http://evil.test/mcp", http.StatusTemporaryRedirect, false},
		{"as a GET", "http://mcp.test/other/", http.StatusFound, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := func(t *testing.T) http.Handler {
				inner := fresh(t, nil)
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Host == "evil.test" && r.Header.Get("X-Key") != "" {
						t.Error("the key was given to another host")
					}
					if r.URL.Path == "/mcp" {
						http.Redirect(w, r, tt.to, tt.status)
						return
					}
					if !tt.works {
						t.Errorf("it was followed, by %s", r.Method)
					}
					inner.ServeHTTP(w, r)
				})
			}
			onSite(t, Server{URL: "http://mcp.test/mcp", Headers: map[string]string{"X-Key": "header-secret"}}, h,
				func(t *testing.T, c *Client, _ *site, _ *said) {
					if st := c.Status()[0]; st.Connected != tt.works {
						t.Errorf("it is %+v", st)
					}
				})
		})
	}
}

func TestHangingHTTPCallEndsWithItsContext(t *testing.T) {
	for name, options := range protocols() {
		t.Run(name, func(t *testing.T) {
			onSite(t, Server{}, func(t *testing.T) http.Handler { return fresh(t, options) }, func(t *testing.T, c *Client, _ *site, _ *said) {
				why := errors.New("enough")
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
				defer cancel()
				begun := time.Now()
				_, err := find(t, c, "it_hang").Call(ctx, agent.Input{Arguments: "{}"})
				if !errors.Is(err, why) || time.Since(begun) != time.Second {
					t.Errorf("after %s: %v", time.Since(begun), err)
				}
				call(t, find(t, c, "it_echo"), `{}`)
			})
		})
	}
}
