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

// Runner runs turns. *agent.Agent implements it.
type Runner interface {
	// Run runs one turn and returns the turn's Result. For each event of the turn, Run calls emit in the goroutine that
	// called Run, and waits until emit has returned.
	Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error)
	// Models returns the names of the models. The first model in the list is the default.
	Models() []string
}

// Store stores sessions, responses and usage, which the server needs after a request has ended.
type Store interface {
	// Used returns how many tokens the turns that the parameter of selects have used in total.
	Used(ctx context.Context, of chat.UsageOf) (chat.Used, error)
	// Session returns a session and those of its entries that the session's summary does not replace, oldest first.
	Session(ctx context.Context, c chat.Conversation) (chat.Session, []chat.Entry, error)
	// SaveExchange stores the usage of a finished turn, and the turn's messages and response if the client wants them
	// stored.
	SaveExchange(ctx context.Context, x chat.Exchange) error
	// Responses returns a person's response and all earlier responses of the same conversation, oldest first. If the
	// response with the given id does not exist, Responses returns an empty list.
	Responses(ctx context.Context, p chat.Person, id string) ([]chat.Response, error)
	// DeleteResponse deletes one of a person's responses and reports whether it existed.
	DeleteResponse(ctx context.Context, p chat.Person, id string) (bool, error)
}

// Options configures a Server.
type Options struct {
	Endpoint       chat.EndpointID // the server's name
	Listen         string          // host:port
	Keys           []Key           // one key for each client; if empty, everybody who can reach the address may use the server
	Origins        []string        // web pages that may call the server, as scheme://host, or "*"
	MaxRequests    int             // maximum number of requests for answers at the same time
	SessionsByUser bool            // the field user of a request selects a session
	ShowReasoning  bool            // clients get the model's reasoning
	TokensPerDay   int             // maximum number of tokens for all clients and all people of the daemon together; 0: no limit
	Grace          time.Duration   // how long running requests may continue when the server stops
	Runner         Runner
	Store          Store
	Documents      Documents
	Usage          func([]agent.ModelUsage) []chat.Usage // converts the usage of a turn to the stored form
	Log            *slog.Logger
}

// These constants limit how long a client that sends slowly or does not read can occupy a connection.
const (
	headerTimeout = 10 * time.Second // for reading the headers of a request
	bodyTimeout   = time.Minute      // for reading the body of a request
	writeTimeout  = 30 * time.Second // for one write; a write blocks while the client does not read
	idleTimeout   = 2 * time.Minute  // for the wait between two requests
	maxHeader     = 16 << 10         // bytes
	maxBody       = 10 << 20         // bytes
	// spareConnections is how many connections the server accepts in addition to MaxRequests. The additional connections
	// are for idle clients and for requests that the server refuses.
	spareConnections = 256
)

var errStopping = errors.New("the server is stopping")

// Server is the OpenAI-compatible server. Requests share only the limits, the caches and the store; in all other
// respects they are independent of each other.
type Server struct {
	Options
	*sharedState
	clients   []*client
	listener  net.Listener
	models    map[string]bool
	successor atomic.Pointer[Server] // the Server that answers new requests after Reload; nil: this Server answers all requests
}

// sharedState is the state that survives a Reload.
type sharedState struct {
	running  atomic.Int64 // number of running requests for answers
	sessions sessionLocks
	repeats  idempotencyCache
	texts    documents
}

// New returns a server that does not listen yet.
func New(o Options) *Server {
	return newServer(o, &sharedState{repeats: newRepeats(), texts: newDocuments(o.Documents)}, newClients(o.Keys))
}

func newServer(o Options, same *sharedState, clients []*client) *Server {
	s := &Server{Options: o, sharedState: same, clients: clients, models: make(map[string]bool)}
	for _, name := range o.Runner.Models() {
		s.models[name] = true
	}
	return s
}

// Reload makes the server answer new requests with the options o. Requests that began before the reload keep their
// options. A client keeps its counters if its key and limits are unchanged. The new options must have the same Listen
// and MaxRequests as the old options.
func (s *Server) Reload(o Options) {
	now := s.current()
	clients := newClients(o.Keys)
	for i, c := range clients {
		if k := slices.IndexFunc(now.clients, func(before *client) bool { return before.Key == c.Key }); k >= 0 {
			clients[i] = now.clients[k]
		}
	}
	s.successor.Store(newServer(o, s.sharedState, clients))
}

// current returns the server with the newest options.
func (s *Server) current() *Server {
	if n := s.successor.Load(); n != nil {
		return n
	}
	return s
}

// Open opens the address on which the server listens. Clients that connect after Open has been called wait until Serve
// is called.
func (s *Server) Open(ctx context.Context) (err error) {
	var lc net.ListenConfig
	if s.listener, err = lc.Listen(ctx, "tcp", s.Listen); err != nil {
		return fmt.Errorf("%s: %w", s.Endpoint, err)
	}
	return nil
}

// Abandon closes the address that Open opened. Call Abandon only if you never call Serve, because Serve itself closes
// the address.
func (s *Server) Abandon() { _ = s.listener.Close() } // ignore the error: nobody uses the listener any more

// Address returns the address that Open opened.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// Serve answers requests until ctx ends. After ctx has ended, Serve closes the address, and lets running requests continue
// for at most Options.Grace. Serve then cancels the requests that still run, and a second later closes their connections.
func (s *Server) Serve(ctx context.Context) {
	requests, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	srv := &http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
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
	grace, cancel := context.WithTimeout(requests, s.current().Grace)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		end(errStopping) // reports an error to the clients whose requests still run
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if srv.Shutdown(last) != nil {
			_ = srv.Close() // closes the remaining connections
		}
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		s.Log.Error("the API server ended", slog.Any("error", err))
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.current().serve(w, r) }

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
	if s.answerCORS(w, r) {
		return
	}
	if err := s.route(rp, r); err != nil {
		rp.fail(err)
	}
}

// route calls the handler of a request.
func (s *Server) route(rp *reply, r *http.Request) *apiError {
	if r.URL.Path == "/health" {
		if err := checkMethod(rp, r, http.MethodGet, http.MethodHead); err != nil {
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
		return s.handleStored(rp, r, c, id)
	}
	return &apiError{status: http.StatusNotFound, kind: invalidRequest, message: fmt.Sprintf("Unknown request URL: %s %s. See docs/api-server.md for what there is.", r.Method, clip(r.URL.Path))}
}

// get answers a GET request.
func (s *Server) get(rp *reply, r *http.Request, answer func(*reply) *apiError) *apiError {
	if err := checkMethod(rp, r, http.MethodGet, http.MethodHead); err != nil {
		return err
	}
	return answer(rp)
}

// checkMethod refuses all methods except the given ones.
func checkMethod(rp *reply, r *http.Request, methods ...string) *apiError {
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
