package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/time/rate"
)

// Options configures a Server.
type Options struct {
	Listen  string // host:port
	Token   string // empty: requests need no token
	Metrics http.Handler
	// Alive returns an error that lists the parts of the daemon that hang. The server does not call Alive while another
	// call of Alive runs, and calls it at most once in the time aliveFor.
	Alive func(context.Context) error
	Ready func() Readiness
	// Status returns the content of the status page. Status is called each time the page is rendered.
	Status func(context.Context) Status
	Log    *slog.Logger
}

// These constants limit connections and requests.
const (
	headerTime     = 5 * time.Second
	readTime       = 10 * time.Second
	writeTime      = 30 * time.Second
	idleTime       = time.Minute
	maxHeader      = 16 << 10 // in bytes
	maxForm        = 4 << 10  // in bytes
	maxConnections = 64
	// endTime is how long running requests may continue after the server was told to stop.
	endTime = time.Second
)

// Server serves the admin address.
type Server struct {
	Options
	token    atomic.Pointer[string]
	listener net.Listener
	checks   checks
	pages    *pages
	streams  chan struct{}  // contains one element for each open page
	refused  rate.Sometimes // limits how often the server logs a refused request
}

// New returns a server. The server listens only after Open was called.
func New(o Options) (*Server, error) {
	p, err := newPages()
	if err != nil {
		return nil, fmt.Errorf("templates of the status page: %w", err)
	}
	s := &Server{Options: o, checks: newChecks(o.Alive), pages: p, streams: make(chan struct{}, maxStreams), refused: rate.Sometimes{Interval: time.Minute}}
	s.SetToken(o.Token)
	return s, nil
}

// SetToken replaces Options.Token. People who logged in with the previous token must log in again.
func (s *Server) SetToken(token string) { s.token.Store(&token) }

// Open starts to listen on the address. Clients that connect wait until Serve is called.
func (s *Server) Open(ctx context.Context) (err error) {
	var lc net.ListenConfig
	if s.listener, err = lc.Listen(ctx, "tcp", s.Listen); err != nil {
		return fmt.Errorf("admin.listen: %w", err)
	}
	return nil
}

// Abandon stops listening on the address. Call Abandon if you will never call Serve.
func (s *Server) Abandon() { _ = s.listener.Close() } // an error of Close has no consequence

// Address returns the address on which the server listens after Open.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// Serve answers requests until ctx is canceled. When ctx is canceled, Serve stops listening.
func (s *Server) Serve(ctx context.Context) {
	requests, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	srv := &http.Server{
		Handler:           s.handler(),
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	s.Log.Info("listening", slog.String("address", s.Address().String()), slog.Bool("token", *s.token.Load() != ""))
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		end()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		if srv.Shutdown(last) != nil {
			_ = srv.Close() // close the connections of requests that have not ended
		}
	})
	if err := srv.Serve(netutil.LimitListener(s.listener, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
		s.Log.Error("the admin server ended", slog.Any("error", err))
	}
	if !stop() {
		<-ended
	}
}

// handler returns the handler of all requests to the admin address.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", s.guarded(s.Metrics))
	s.routes(mux)
	return s.safely(mux)
}

// contentPolicy allows a page to load only files of this server. contentPolicy forbids inline scripts, inline styles
// and anything from other sites.
// https://www.w3.org/TR/CSP3/
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// safely sets the headers of all responses and refuses requests for foreign host names. If a handler panics, only the
// handler's request fails.
func (s *Server) safely(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		defer func() {
			if v := recover(); v != nil {
				s.Log.Error("an admin request failed unexpectedly", slog.String("path", r.URL.Path), slog.Any("panic", v), slog.String("trace", string(debug.Stack())))
				http.Error(w, "internal error", http.StatusInternalServerError)
			}
		}()
		if *s.token.Load() == "" && !isLocalName(r.Host) {
			s.refuse(w, r, http.StatusMisdirectedRequest, "this name is not the admin address; use its IP address or localhost")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuse answers a request with an error. refuse logs only a few refusals, because anybody can send many wrong
// requests.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	s.refused.Do(func() {
		s.Log.Warn("admin request refused", slog.Int("status", status), slog.String("from", r.RemoteAddr))
	})
	http.Error(w, why, status)
}
