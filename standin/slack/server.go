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

// Tokens and the signing secret of an app whose options name none.
const (
	DefaultBotToken      = "xoxb-standin-local-use-only"
	DefaultAppToken      = "xapp-standin-local-use-only"
	DefaultSigningSecret = "standin-signing-secret-local-use-only"
)

// Options configures a Server. The zero value is an app in Socket Mode with the
// default tokens under the published limits, without latency.
type Options struct {
	// BotToken is the app's token in the workspace, xoxb-…; DefaultBotToken when empty.
	BotToken string
	// AppToken opens sockets, xapp-…; DefaultAppToken when empty.
	AppToken string
	// SigningSecret signs what is sent to a request URL; DefaultSigningSecret when empty.
	SigningSecret string
	// BotName is the bot's user name; "telex" when empty.
	BotName string
	// Scopes are what the bot's token may do; AllScopes when nil.
	Scopes []string
	// Subscriptions are the events that the app subscribed to; AllEvents when nil.
	Subscriptions []string
	// BaseURL is where clients reach the server, for the links that it hands out. When
	// empty it is what the last call to the Web API used, else the TCP listener's address.
	BaseURL string
	// RequestURL is where events, commands and button presses are posted. When empty the
	// app is in Socket Mode. SetRequestURL verifies it as well.
	RequestURL string
	// Dial reaches the request URL; nil is the real network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Limits are those the platform publishes: more is answered 429 and is a
	// violation. The zero value means PublishedLimits.
	Limits Limits
	// Hidden are lower limits that the platform enforces without saying so: more
	// is answered 429 but is no violation. A kind of limit that is zero has none.
	Hidden Limits
	// Latency is how long each call takes, half of it before it takes effect.
	Latency time.Duration
	// StreamLife is how long a message may stream; 5 minutes when 0.
	StreamLife time.Duration
	// SocketLife is when a socket is asked to refresh; 18,060 seconds when 0.
	SocketLife time.Duration
	// Agent makes the app an agent (agent_view in its manifest): conversations are in the Messages tab. Else it is an
	// assistant (assistant_view), with threads of their own.
	Agent bool
	// EditWindow is how long a message may be edited, 0 for ever.
	EditWindow time.Duration
	// Log receives one line per call at level debug; nil: no log.
	Log *slog.Logger
}

func (o Options) orDefaults() Options {
	o.BotToken = cmp.Or(o.BotToken, DefaultBotToken)
	o.AppToken = cmp.Or(o.AppToken, DefaultAppToken)
	o.SigningSecret = cmp.Or(o.SigningSecret, DefaultSigningSecret)
	o.BotName = cmp.Or(o.BotName, "telex")
	o.StreamLife = cmp.Or(o.StreamLife, streamLife)
	o.SocketLife = cmp.Or(o.SocketLife, socketLife)
	if o.Scopes == nil {
		o.Scopes = AllScopes()
	}
	if o.Subscriptions == nil {
		o.Subscriptions = AllEvents()
	}
	return o
}

// Server imitates Slack for one app in one workspace. It is an http.Handler;
// Serve adds a real or in-memory listener. All methods may be called from any
// goroutine.
type Server struct {
	rig.Rig[Call, Event]

	opts Options
	app  *http.Client // posts to the request URL.

	mu      sync.Mutex // guards the following fields; never held while waiting
	started time.Time
	// era is what deliveries live in, which outlive what caused them: ended by Close, ended
	// and replaced by Reset.
	era    context.Context //nolint:containedctx // see above
	endEra context.CancelFunc

	base       string // as told or learned; see Options.BaseURL.
	requestURL string
	revoked    bool

	channels map[string]*channel
	users    map[string]User
	clock    int64 // the newest ts, in microseconds since 1970.
	serial   int   // of everything that gets an id.

	files     map[string]*storedFile
	responses map[string]*responder

	tickets    map[string]ticket
	sockets    []*socket
	turn       int // of the sockets that share the envelopes.
	offers     map[string]*offer
	deliveries []*Delivery
	commands   []*CommandRun

	limiter limiter
	stats   Stats // without the counters of the rig
}

// New returns a workspace without messages. The caller must close it.
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
		Head: func(e *Event) *rig.EventHead[Call] { return &e.EventHead }, Place: place, Isolate: isolate,
		Check: check, Chooses: chooses, Act: s.act,
	})
	return s
}

// BotToken is the token that the Web API accepts.
func (s *Server) BotToken() string { return s.opts.BotToken }

// AppToken is the token that opens sockets.
func (s *Server) AppToken() string { return s.opts.AppToken }

// SigningSecret is what requests to the app are signed with.
func (s *Server) SigningSecret() string { return s.opts.SigningSecret }

// reset forgets everything that happened, and what was not delivered yet never will be. The caller holds s.mu.
func (s *Server) reset() {
	if s.endEra != nil {
		s.endEra()
	}
	s.era, s.endEra = context.WithCancel(context.Background())
	s.started = time.Now()
	s.revoked = false
	s.channels = make(map[string]*channel)
	s.users = map[string]User{
		BotUser: {ID: BotUser, Name: s.opts.BotName, RealName: s.opts.BotName, IsBot: true, BotID: BotID},
	}
	s.files = make(map[string]*storedFile)
	s.responses = make(map[string]*responder)
	s.tickets = make(map[string]ticket)
	s.offers = make(map[string]*offer)
	s.deliveries, s.commands = nil, nil
	s.limiter = limiter{quota.NewScopes(enforced(s.opts.Limits, s.opts.Hidden))}
	s.stats = newStats()
}

// Serve answers requests on l until Close, and then returns nil. It closes l.
func (s *Server) Serve(l net.Listener) error {
	if _, ok := l.Addr().(*net.TCPAddr); ok {
		s.Locked(func() { s.base = cmp.Or(s.base, "http://"+l.Addr().String()) })
	}
	return s.Rig.Serve(l)
}

// Close ends Serve, cuts all connections and waits for what is under way.
func (s *Server) Close() error {
	s.Locked(func() { s.endEra() })
	err := s.Rig.Close()
	s.app.CloseIdleConnections()
	return err
}

// detach forgets the sockets, which end with the requests that opened them. What the app has not acknowledged is
// delivered again.
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
