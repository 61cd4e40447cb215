package homeassistant

import (
	"cmp"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"telex/standin/rig"
)

// Defaults of a server.
const (
	DefaultToken = "standin-long-lived-token-local-use-only"
	// BotUser is the id of the user to whom the token belongs. The context of the bot's actions contains this id.
	BotUser = "5d0b6c2f1e7a4f1b9a6d3c8e2f4a7b10"
	// Version is the version of Home Assistant that the server sends as ha_version.
	Version = "2026.8.2"
)

// Options configures a Server. The zero value configures a small house without latency.
type Options struct {
	// Token is the long-lived access token of the bot; DefaultToken if empty.
	Token string
	// Entities are the entities of the house; House() if nil.
	Entities []Change
	// Targets are the names of the legacy notify actions, without the prefix "notify.". notify.persistent_notification
	// always exists. nil means "notify" and "mobile_app_phone".
	Targets []string
	// Latency is the duration of each call. Each call takes effect after half of the latency.
	Latency time.Duration
	// Log receives one line per call at level debug; nil: no log.
	Log *slog.Logger
}

// Server imitates Home Assistant for one bot. A Server is an http.Handler. Serve answers requests on a listener, which
// may be a network listener or an in-memory listener. All methods may be called from any goroutine.
type Server struct {
	rig.Rig[Call, Event]

	opts     Options
	services map[string]service // by domain.name; never changed

	mu            sync.Mutex // guards the following fields; no goroutine waits while it holds mu
	started       time.Time
	revoked       bool
	serial        int // the last number of a generated id
	states        map[string]State
	notifications []*Notification
	current       map[string]*Notification // the notifications in the panel, by id
	sockets       []*socket
	stats         Stats // the counters, except those in rig.Stats
}

// New returns a server for a house in which nothing has happened yet. The caller must close the server.
func New(opts Options) *Server {
	opts.Token = cmp.Or(opts.Token, DefaultToken)
	if opts.Entities == nil {
		opts.Entities = House()
	}
	if opts.Targets == nil {
		opts.Targets = []string{"notify", "mobile_app_phone"}
	}
	s := &Server{opts: opts, services: services(opts.Targets)}
	rig.Init(&s.Rig, rig.Platform[Call, Event]{
		Name: "homeassistant", Handler: s, Mutex: &s.mu, Log: opts.Log, Latency: opts.Latency,
		Serve: s.serve, Control: s.controls(), Reset: s.reset, Restart: s.clearPanel, Detach: s.detach,
		Call: func(c *Call) *rig.Call { return &c.Call }, Finish: s.finish,
		Head: func(e *Event) *rig.EventHead[Call] { return &e.EventHead }, Place: setEventPlace, Isolate: copyEvent,
		Check: checkFault, Chooses: faultMatches, Act: s.applyFault,
	})
	return s
}

// Token returns the valid token.
func (s *Server) Token() string { return s.opts.Token }

// reset removes all state. The caller holds s.mu.
func (s *Server) reset() {
	s.started = time.Now()
	s.revoked = false
	s.notifications, s.current = nil, make(map[string]*Notification)
	s.stats = newStats()
	s.states = make(map[string]State)
	now := Time{s.started}
	for _, c := range s.opts.Entities {
		s.states[c.Entity] = State{
			Entity: c.Entity, State: c.State, Attributes: withAttributes(c.Attributes, nil), LastChanged: now, LastReported: now,
			LastUpdated: now, Context: s.newContext(c.User),
		}
	}
}

// detach removes the sockets from the server. Each connection ends when the request that opened it ends.
func (s *Server) detach() []net.Conn {
	s.sockets = nil
	return nil
}

// serve answers requests that are not for the control API.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	if r.URL.Path == "/api/websocket" && r.Method == http.MethodGet {
		s.serveSocket(w, r, cut)
		return
	}
	s.serveREST(w, r, cut)
}

// Revoke deletes the bot's token and closes the bot's sockets. If on is false, Revoke makes the token valid again.
func (s *Server) Revoke(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = on
	if on {
		s.endSockets()
	}
}

// validToken reports whether a token is the bot's and was not revoked. The caller holds s.mu.
func (s *Server) validToken(token string) bool { return !s.revoked && token == s.opts.Token }
