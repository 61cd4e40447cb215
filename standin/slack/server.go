package slack

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"telex/standin/quota"
	"telex/standin/rig"
)

// These are the defaults if Options sets no token or no signing secret.
const (
	DefaultBotToken      = "xoxb-standin-local-use-only"
	DefaultAppToken      = "xapp-standin-local-use-only"
	DefaultSigningSecret = "standin-signing-secret-local-use-only"
)

// Options configures a Server. The zero value configures an app in Socket Mode with the default tokens, under the
// published limits, without latency.
type Options struct {
	// BotToken is the app's token in the workspace, xoxb-…; DefaultBotToken if empty.
	BotToken string
	// AppToken is the token with which the app opens sockets, xapp-…; DefaultAppToken if empty.
	AppToken string
	// SigningSecret is the secret with which the server signs requests to the app; DefaultSigningSecret if empty.
	SigningSecret string
	// BotName is the bot's user name; "telex" if empty.
	BotName string
	// Scopes are the scopes of the bot's token; AllScopes if nil.
	Scopes []string
	// Subscriptions are the events to which the app is subscribed; AllEvents if nil.
	Subscriptions []string
	// BaseURL is the base URL of the server for the links that it returns. If BaseURL is empty, the server uses the URL at
	// which the last call to the Web API arrived. Before the first call, the server uses the address of its TCP listener.
	BaseURL string
	// RequestURL is the URL to which the server posts events, commands and button presses. If RequestURL is empty, the app
	// is in Socket Mode. SetRequestURL can set the URL later, and verifies it.
	RequestURL string
	// Dial opens connections to the request URL. If Dial is nil, the server uses the real network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Limits are the published limits. A call that exceeds a published limit gets 429 and counts as a violation. A zero
	// field means the value in PublishedLimits.
	Limits Limits
	// Hidden are lower limits that the server enforces although they are not published. A call that exceeds a hidden limit
	// gets 429, but is not a violation. A zero field means no limit.
	Hidden Limits
	// Latency is the duration of each call. Each call takes effect after half of the latency.
	Latency time.Duration
	// StreamLife is how long a message may stream; 0 means 5 minutes.
	StreamLife time.Duration
	// SocketLife is the time after which the server closes a socket to refresh it; 0 means 18,060 seconds.
	SocketLife time.Duration
	// Agent makes the app an agent (agent_view in its manifest), with conversations in the Messages tab. Without Agent, the
	// app is an assistant (assistant_view) with separate threads.
	Agent bool
	// EditWindow is how long the bot can edit a message after it has posted the message; 0 means forever.
	EditWindow time.Duration
	// Log receives one line per call at level debug; nil: no log.
	Log *slog.Logger
}

func (o Options) orDefaults() Options {
	o.BotToken = cmp.Or(o.BotToken, DefaultBotToken)
	o.AppToken = cmp.Or(o.AppToken, DefaultAppToken)
	o.SigningSecret = cmp.Or(o.SigningSecret, DefaultSigningSecret)
	o.BotName = cmp.Or(o.BotName, "telex")
	o.StreamLife = cmp.Or(o.StreamLife, streamLifetime)
	o.SocketLife = cmp.Or(o.SocketLife, socketLifetime)
	if o.Scopes == nil {
		o.Scopes = AllScopes()
	}
	if o.Subscriptions == nil {
		o.Subscriptions = AllEvents()
	}
	return o
}

// Server imitates Slack for one app in one workspace. A Server is an http.Handler. Serve answers requests on a
// listener, which may be a network listener or an in-memory listener. All methods may be called from any goroutine.
type Server struct {
	rig.Rig[Call, Event]

	opts Options
	app  *http.Client // the client that posts to the request URL

	mu      sync.Mutex // guards the following fields; no goroutine waits while it holds mu
	started time.Time
	// background is the context of deliveries, which continue after the calls that caused them. Close ends this context,
	// and Reset replaces it by a new one.
	background    context.Context //nolint:containedctx // deliveries outlive calls
	endBackground context.CancelFunc

	base       string // base URL for links: Options.BaseURL, or the URL of the last call
	requestURL string
	revoked    bool

	channels map[string]*channel
	users    map[string]User
	clock    int64 // the newest ts, in microseconds since 1970
	serial   int   // the last number of a generated id

	files     map[string]*storedFile
	responses map[string]*responseURL

	tickets    map[string]socketTicket
	sockets    []*socket
	nextSocket int // index of the socket that receives the next envelope
	envelopes  map[string]*envelope
	deliveries []*Delivery
	commands   []*CommandRun

	limiter limiter
	stats   Stats // the counters, except those in rig.Stats
}

// New returns a workspace without messages. The caller must close the server.
func New(opts Options) *Server {
	opts = opts.orDefaults()
	s := &Server{
		opts: opts,
		app: &http.Client{
			Transport:     &http.Transport{DialContext: opts.Dial},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base: strings.TrimSuffix(opts.BaseURL, "/"), requestURL: opts.RequestURL,
	}
	rig.Init(&s.Rig, rig.Platform[Call, Event]{
		Name: "slack", Handler: s, Mutex: &s.mu, Log: opts.Log, Latency: opts.Latency,
		Serve: s.serve, Control: s.controls(), Reset: s.reset, Detach: s.detach,
		Call: func(c *Call) *rig.Call { return &c.Call }, Finish: s.finish,
		Head: func(e *Event) *rig.EventHead[Call] { return &e.EventHead }, Place: setEventChannel, Isolate: copyEvent,
		Check: checkFault, Chooses: faultMatches, Act: s.applyFault,
	})
	return s
}

// BotToken returns the valid token of the Web API.
func (s *Server) BotToken() string { return s.opts.BotToken }

// AppToken returns the token that opens sockets.
func (s *Server) AppToken() string { return s.opts.AppToken }

// SigningSecret returns the secret with which the server signs requests to the app.
func (s *Server) SigningSecret() string { return s.opts.SigningSecret }

// reset removes all state and drops pending deliveries. The caller holds s.mu.
func (s *Server) reset() {
	if s.endBackground != nil {
		s.endBackground()
	}
	s.background, s.endBackground = context.WithCancel(context.Background())
	s.started = time.Now()
	s.revoked = false
	s.channels = make(map[string]*channel)
	s.users = map[string]User{
		BotUser: {ID: BotUser, Name: s.opts.BotName, RealName: s.opts.BotName, IsBot: true, BotID: BotID},
	}
	s.files = make(map[string]*storedFile)
	s.responses = make(map[string]*responseURL)
	s.tickets = make(map[string]socketTicket)
	s.envelopes = make(map[string]*envelope)
	s.deliveries, s.commands = nil, nil
	s.limiter = limiter{quota.NewScopes(effectiveLimits(s.opts.Limits, s.opts.Hidden))}
	s.stats = newStats()
}

// Serve answers requests on l until Close is called, then closes l and returns nil.
func (s *Server) Serve(l net.Listener) error {
	if _, ok := l.Addr().(*net.TCPAddr); ok {
		s.Locked(func() { s.base = cmp.Or(s.base, "http://"+l.Addr().String()) })
	}
	return s.Rig.Serve(l)
}

// Close ends Serve, closes all connections and waits for running calls.
func (s *Server) Close() error {
	s.Locked(func() { s.endBackground() })
	err := s.Rig.Close()
	s.app.CloseIdleConnections()
	return err
}

// detach removes the sockets from the server. Each connection ends when the request that opened it ends. The server
// delivers envelopes of these sockets again if the app has not acknowledged them.
func (s *Server) detach() []net.Conn {
	s.sockets = nil
	return nil
}

// serve answers /api/<method>, /link/ (sockets), /upload/…, /files-pri/… and /respond/….
func (s *Server) serve(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	path := r.URL.Path
	switch {
	case strings.HasPrefix(path, "/api/"):
		s.serveCall(w, r, strings.TrimPrefix(path, "/api/"), cut)
	case strings.HasPrefix(path, uploadPath):
		s.serveCall(w, r, uploadMethod, cut)
	case strings.HasPrefix(path, downloadPath):
		s.serveCall(w, r, downloadMethod, cut)
	case strings.HasPrefix(path, respondPath):
		s.serveCall(w, r, respondMethod, cut)
	case path == "/link/":
		s.serveSocket(w, r, cut)
	default:
		s.Respond(w, r, rig.Text(http.StatusNotFound, "not found"), cut)
	}
}
