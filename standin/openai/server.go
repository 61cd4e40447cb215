package openai

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"telex/standin/rig"
)

const (
	// defaultRate is the speed of an answer in tokens per second if Options.Rate is 0.
	defaultRate = 50
	// maxBody is the maximum size of a request body in bytes.
	maxBody = 32 << 20
)

// Options configure a Server. The zero value is usable: it needs no key and has one model, "standin".
type Options struct {
	Key    string       // the Bearer token that clients must send; empty: no token needed
	Models []string     // the names of the models; "*" stands for any name
	Log    *slog.Logger // gets one line for each request; nil: no log
	Rate   float64      // tokens per second; 0 means 50, less than 0 sends without pauses
	// Context is the size of the models' context window, in tokens as the server counts them; 0 means no limit. Contexts
	// sets the size of the context window for single models, by name.
	Context  int
	Contexts map[string]int
	Seed     uint64 // seed for jitter and ids; the texts of answers do not depend on it
}

// Server imitates a model provider. A Server is an http.Handler, and the method Serve answers requests on a listener. A
// program may use the handler and Serve at the same time. New creates a Server.
type Server struct {
	opts    Options
	log     *slog.Logger
	mux     *http.ServeMux
	http    *http.Server
	started time.Time
	ctx     context.Context //nolint:containedctx // Close ends this context.
	stop    context.CancelFunc
	active  sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	rules   []*activeRule
	used    map[string]int // number of requests with the same settings and question, for skip and times
	records []*Request
	bodies  int // total bytes of the bodies in records
	serial  int
	epoch   int // number of resets
	stats   Stats
	conns   map[net.Conn]bool
	changed chan struct{} // closed at the next change; nil if no goroutine waits
}

// New returns a server. New starts no goroutine. The caller should call Close, which ends running answers.
func New(o Options) *Server {
	if len(o.Models) == 0 {
		o.Models = []string{"standin"}
	}
	if o.Rate == 0 {
		o.Rate = defaultRate
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		opts: o, log: log, mux: http.NewServeMux(), started: time.Now(),
		used: map[string]int{}, conns: map[net.Conn]bool{},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           s,
		ConnState:         s.connState,
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	for _, prefix := range []string{"", "/v1"} {
		s.mux.HandleFunc("POST "+prefix+"/chat/completions", s.serveChat)
		s.mux.HandleFunc("POST "+prefix+"/responses", s.serveResponses)
		s.mux.HandleFunc("POST "+prefix+"/audio/transcriptions", s.serveTranscription)
		s.mux.HandleFunc("GET "+prefix+"/models", s.serveModels)
		s.mux.HandleFunc("GET "+prefix+"/models/{model...}", s.serveModel)
	}
	s.control()
	s.mux.HandleFunc("/", s.serveUnknown)
	return s
}

// Serve answers requests on a listener until Close is called or the listener fails. Serve blocks, and closes the
// listener before it returns. After Close, Serve returns nil.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// Close ends all running answers, closes listeners and connections, and waits for all requests.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	err := s.http.Close()
	s.active.Wait()
	if err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.refuse(w, newError(http.StatusServiceUnavailable, "server_error", "", "", "The server is closed."))
		return
	}
	s.active.Add(1)
	s.mu.Unlock()
	defer s.active.Done()
	s.mux.ServeHTTP(w, r)
}

// connState counts the connections that Serve has accepted.
func (s *Server) connState(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.conns[c] = true
	case http.StateClosed, http.StateHijacked:
		delete(s.conns, c)
	default:
		return
	}
	s.stats.Connections = len(s.conns)
	s.stats.MaxConnections = max(s.stats.MaxConnections, len(s.conns))
	s.notify()
}

// authorize checks the Bearer token.
func (s *Server) authorize(r *http.Request) {
	if s.opts.Key == "" {
		return
	}
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	rig.RefuseIf(!bearer, newError(http.StatusUnauthorized, "invalid_request_error", "", "",
		"You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "+
			"(i.e. Authorization: Bearer YOUR_KEY)."))
	rig.RefuseIf(subtle.ConstantTimeCompare([]byte(token), []byte(s.opts.Key)) != 1, newError(http.StatusUnauthorized,
		"invalid_request_error", "", "invalid_api_key", "Incorrect API key provided: "+maskKey(token)+"."))
}

// maskKey hides the middle of a key. OpenAI's errors show keys in this form.
func maskKey(key string) string {
	if len(key) < 12 {
		return strings.Repeat("*", len(key))
	}
	return key[:4] + strings.Repeat("*", len(key)-8) + key[len(key)-4:]
}

// refuse writes an error as the response to a request.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		e = newError(http.StatusInternalServerError, "server_error", "", "", err.Error())
	}
	s.write(w, e.status, "application/json", e.body())
}

// write sends a whole answer. write ignores errors, because the end of the request's context shows that the client has
// disconnected.
func (s *Server) write(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		s.log.Debug("write answer", slog.Any("err", err))
	}
}

// model describes a model in the form of https://platform.openai.com/docs/api-reference/models.
func (s *Server) model(id string) map[string]any {
	return map[string]any{"id": id, "object": "model", "created": s.started.Unix(), "owned_by": "standin"}
}

func (s *Server) serveModels(w http.ResponseWriter, r *http.Request) {
	s.answer(w, func() any {
		s.authorize(r)
		data := []any{}
		for _, id := range s.opts.Models {
			if id != "*" {
				data = append(data, s.model(id))
			}
		}
		return map[string]any{"object": "list", "data": data}
	})
}

func (s *Server) serveModel(w http.ResponseWriter, r *http.Request) {
	s.answer(w, func() any {
		s.authorize(r)
		id := r.PathValue("model")
		rig.RefuseIf(!slices.Contains(s.opts.Models, id), newError(http.StatusNotFound, "invalid_request_error", "model", "model_not_found",
			fmt.Sprintf("The model '%s' does not exist", id)))
		return s.model(id)
	})
}

// answer runs a method and writes its result, or the error with which the method refused the request.
func (s *Server) answer(w http.ResponseWriter, method func() any) {
	result, refused := rig.Run[apiError](method)
	if refused != nil {
		s.refuse(w, refused)
		return
	}
	s.write(w, http.StatusOK, "application/json", mustJSON(result))
}

// serveUnknown answers requests with a wrong method or path.
func (s *Server) serveUnknown(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	allowed := ""
	switch {
	case path == "/chat/completions" || path == "/responses" || path == "/audio/transcriptions":
		allowed = http.MethodPost
	case path == "/models" || strings.HasPrefix(path, "/models/"):
		allowed = http.MethodGet
	}
	if allowed != "" {
		w.Header().Set("Allow", allowed)
		s.refuse(w, newError(http.StatusMethodNotAllowed, "invalid_request_error", "", "method_not_supported",
			fmt.Sprintf("Not allowed to %s on %s. (HINT: Perhaps you meant to make your HTTP request using a different method?)",
				r.Method, r.URL.Path)))
		return
	}
	s.refuse(w, newError(http.StatusNotFound, "invalid_request_error", "", "",
		fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path)))
}
