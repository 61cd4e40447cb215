package apiserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"telex/agent"
	"telex/internal/chat"
)

// Runner runs turns; an *agent.Agent is one.
type Runner interface {
	// Run runs one turn and returns its Result. It calls emit from its own goroutine only, and waits for it.
	Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error)
	// Models returns the names of the models, the first choice first.
	Models() []string
}

// Store keeps what outlives a request.
type Store interface {
	// Used sums up the usage of turns.
	Used(ctx context.Context, of chat.UsageOf) (chat.Used, error)
	// Session returns a session and its entries that are not summarized, oldest first.
	Session(ctx context.Context, c chat.Conversation) (chat.Session, []chat.Entry, error)
	// SaveExchange stores a turn that has ended.
	SaveExchange(ctx context.Context, x chat.Exchange) error
	// Responses returns a person's response and those before it in its conversation, oldest first; none if there is none.
	Responses(ctx context.Context, p chat.Person, id string) ([]chat.Response, error)
	// DeleteResponse deletes one of a person's responses and reports whether it existed.
	DeleteResponse(ctx context.Context, p chat.Person, id string) (bool, error)
}

// Options configure a Server.
type Options struct {
	Endpoint       chat.EndpointID // the server's name
	Listen         string          // host:port
	Keys           []Key           // none: everybody who reaches the address may use it
	Origins        []string        // web pages that may call it, as scheme://host, or "*"
	MaxRequests    int             // requests for answers at once
	SessionsByUser bool            // the field user names a session
	ShowReasoning  bool            // clients get the model's reasoning
	TokensPerDay   int             // of everybody who uses the daemon; 0: any number
	Grace          time.Duration   // how long running requests may take when the server stops
	Runner         Runner
	Store          Store
	Documents      Documents
	Usage          func([]agent.Spent) []chat.Usage // what a turn used, as it is stored
	Log            *slog.Logger
}

// What bounds connections. A client that sends slowly, or does not read, holds a connection and a request no longer than this.
const (
	headerTime = 10 * time.Second // to send the header of a request
	bodyTime   = time.Minute      // to send its body
	writeTime  = 30 * time.Second // to take what was written last
	idleTime   = 2 * time.Minute  // between two requests
	maxHeader  = 16 << 10         // bytes
	maxBody    = 10 << 20         // bytes
	// spareConnections are those beside the requests that may run: idle ones, and those whose request is refused.
	spareConnections = 256
)

var errStopping = errors.New("the server is stopping")

// Server is the OpenAI-compatible server. Its requests share nothing but limits and the store.
type Server struct {
	Options
	*shared
	clients  []*client
	listener net.Listener
	models   map[string]bool
	next     atomic.Pointer[Server] // answers requests in place of this one; nil: none. See Reload
}

// shared is what lasts over a Reload.
type shared struct {
	running  atomic.Int64 // requests for answers
	sessions sessionLocks
	repeats  repeats
	texts    documents
}

// New returns a server that does not listen yet.
func New(o Options) *Server {
	return newServer(o, &shared{repeats: newRepeats(), texts: newDocuments(o.Documents)}, newClients(o.Keys))
}

func newServer(o Options, same *shared, clients []*client) *Server {
	s := &Server{Options: o, shared: same, clients: clients, models: make(map[string]bool)}
	for _, name := range o.Runner.Models() {
		s.models[name] = true
	}
	return s
}

// Reload lets the requests that come from now on be answered with other options. Those that run end with theirs. What a client
// has used counts on as long as its key and its limits are the same. Listen and MaxRequests can't change.
func (s *Server) Reload(o Options) {
	now := s.latest()
	clients := newClients(o.Keys)
	for i, c := range clients {
		if k := slices.IndexFunc(now.clients, func(before *client) bool { return before.Key == c.Key }); k >= 0 {
			clients[i] = now.clients[k]
		}
	}
	s.next.Store(newServer(o, s.shared, clients))
}

// latest returns the server with the newest options.
func (s *Server) latest() *Server {
	if n := s.next.Load(); n != nil {
		return n
	}
	return s
}

// Open opens the address. Requests wait until Serve.
func (s *Server) Open(ctx context.Context) (err error) {
	var lc net.ListenConfig
	if s.listener, err = lc.Listen(ctx, "tcp", s.Listen); err != nil {
		return fmt.Errorf("%s: %w", s.Endpoint, err)
	}
	return nil
}

// Abandon closes the address of a server that will not Serve.
func (s *Server) Abandon() { _ = s.listener.Close() } // nobody can do anything about it

// Address returns the address that Open opened.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// Serve answers requests until ctx ends, and then those that are running, within the grace. It closes the address.
func (s *Server) Serve(ctx context.Context) {
	requests, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	srv := &http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	s.Log.Info("listening", slog.String("address", s.Address().String()), slog.Int("keys", len(s.clients)))
	served := make(chan error, 1)
	go func() { served <- srv.Serve(netutil.LimitListener(s.listener, s.MaxRequests+spareConnections)) }()
	select {
	case err := <-served:
		s.Log.Error("the API server ended", slog.Any("error", err))
		return
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(requests, s.latest().Grace)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		end(errStopping) // their clients get an error
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if srv.Shutdown(last) != nil {
			_ = srv.Close() // cuts what is left
		}
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		s.Log.Error("the API server ended", slog.Any("error", err))
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.latest().serve(w, r) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	rp := &reply{w: w, control: http.NewResponseController(w), id: newID("req_")}
	w.Header().Set("X-Request-Id", rp.id)
	defer func() {
		if v := recover(); v != nil {
			s.Log.Error("a request failed unexpectedly", slog.String("request", rp.id), slog.Any("panic", v), slog.String("trace", string(debug.Stack())))
			rp.fail(errInternal(rp.id))
		}
		rp.close()
	}()
	if s.allowOrigin(w, r) {
		return
	}
	if err := s.route(rp, r); err != nil {
		rp.fail(err)
	}
}

// route hands a request to its handler.
func (s *Server) route(rp *reply, r *http.Request) *apiError {
	if r.URL.Path == "/health" {
		if err := allow(rp, r, http.MethodGet, http.MethodHead); err != nil {
			return err
		}
		return rp.json(map[string]string{"status": "ok"})
	}
	c, err := s.authenticate(r)
	if err != nil {
		return err
	}
	path, found := strings.CutPrefix(r.URL.Path, "/v1/")
	section, id, nested := strings.Cut(path, "/")
	switch {
	case !found:
	case path == "models":
		return s.get(rp, r, s.listModels)
	case section == "models" && nested && id != "":
		return s.get(rp, r, func(rp *reply) *apiError { return s.model(rp, id) })
	case path == "chat/completions":
		return s.post(rp, r, c, chatAPI{})
	case path == "responses":
		return s.post(rp, r, c, responsesAPI{})
	case section == "responses" && nested && id != "" && !strings.Contains(id, "/"):
		return s.stored(rp, r, c, id)
	}
	return &apiError{status: http.StatusNotFound, kind: invalidRequest, message: fmt.Sprintf("Unknown request URL: %s %s. See docs/api-server.md for what there is.", r.Method, clip(r.URL.Path))}
}

// get answers a GET request.
func (s *Server) get(rp *reply, r *http.Request, answer func(*reply) *apiError) *apiError {
	if err := allow(rp, r, http.MethodGet, http.MethodHead); err != nil {
		return err
	}
	return answer(rp)
}

// allow refuses all methods but some.
func allow(rp *reply, r *http.Request, methods ...string) *apiError {
	if slices.Contains(methods, r.Method) {
		return nil
	}
	rp.w.Header().Set("Allow", strings.Join(methods, ", "))
	return &apiError{status: http.StatusMethodNotAllowed, kind: invalidRequest, message: "Not allowed to " + clip(r.Method) + " on " + clip(r.URL.Path) + "."}
}

// modelEntry is a model in the list of models.
type modelEntry struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func newModelEntry(name string) modelEntry {
	return modelEntry{ID: name, Object: "model", OwnedBy: "telex"}
}

func (s *Server) listModels(rp *reply) *apiError {
	list := []modelEntry{}
	for _, name := range s.Runner.Models() {
		list = append(list, newModelEntry(name))
	}
	return rp.json(map[string]any{"object": "list", "data": list})
}

func (s *Server) model(rp *reply, name string) *apiError {
	if !s.models[name] {
		return errNoModel(name)
	}
	return rp.json(newModelEntry(name))
}
