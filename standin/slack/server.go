package slack

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"telex/standin/fault"
	"telex/standin/host"
	"telex/standin/watch"
)

// Tokens and the signing secret of an app whose options name none.
const (
	DefaultBotToken      = "xoxb-standin-local-use-only"
	DefaultAppToken      = "xapp-standin-local-use-only"
	DefaultSigningSecret = "standin-signing-secret-local-use-only"
)

// Options configure a Server. The zero value is an app in Socket Mode with the
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
	// EditWindow is how long a message may be edited, 0 for ever.
	EditWindow time.Duration
	// Log gets one line per call at level debug; nil discards.
	Log *slog.Logger
}

func (o Options) orDefaults() Options {
	o.BotToken = orElse(o.BotToken, DefaultBotToken)
	o.AppToken = orElse(o.AppToken, DefaultAppToken)
	o.SigningSecret = orElse(o.SigningSecret, DefaultSigningSecret)
	o.BotName = orElse(o.BotName, "telex")
	o.StreamLife = orElse(o.StreamLife, streamLife)
	o.SocketLife = orElse(o.SocketLife, socketLife)
	if o.Scopes == nil {
		o.Scopes = AllScopes()
	}
	if o.Subscriptions == nil {
		o.Subscriptions = AllEvents()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Server imitates Slack for one app in one workspace. It is an http.Handler;
// Serve adds a real or in-memory listener. All methods may be called from any
// goroutine.
type Server struct {
	opts   Options
	log    *slog.Logger
	app    *http.Client // posts to the request URL.
	host   *host.Host
	faults fault.Table[Fault]
	holds  fault.Holds[Call]
	events watch.Hub[Event]

	mu      sync.Mutex // guards everything below; never held while waiting.
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
	calls   []*Call
	stats   Stats
}

// New returns a workspace without messages. The caller closes it.
func New(opts Options) *Server {
	opts = opts.orDefaults()
	s := &Server{
		opts: opts, log: opts.Log,
		app: &http.Client{
			Transport:     &http.Transport{DialContext: opts.Dial},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base: strings.TrimSuffix(opts.BaseURL, "/"), requestURL: opts.RequestURL,
	}
	s.host = host.New(s, opts.Log)
	s.era, s.endEra = context.WithCancel(context.Background())
	s.resetLocked()
	return s
}

// BotToken is the token that the Web API accepts.
func (s *Server) BotToken() string { return s.opts.BotToken }

// AppToken is the token that opens sockets.
func (s *Server) AppToken() string { return s.opts.AppToken }

// SigningSecret is what requests to the app are signed with.
func (s *Server) SigningSecret() string { return s.opts.SigningSecret }

// Reset forgets everything that happened: channels, events, calls, counters,
// faults and blocked windows. Calls in flight and sockets are cut, what was not
// delivered yet never will be.
func (s *Server) Reset() { s.reset(nil) }

func (s *Server) reset(spare net.Conn) {
	s.restart(0, spare)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endEra()
	s.era, s.endEra = context.WithCancel(context.Background())
	s.resetLocked()
	s.publish(Event{Kind: "reset"})
}

func (s *Server) resetLocked() {
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
	s.limiter = newLimiter(s.opts.Limits, s.opts.Hidden)
	s.faults.Reset()
	s.holds.Reset()
	s.host.Refuse(time.Time{})
	s.calls = nil
	s.stats = newStats()
}

// Serve answers requests on l until Close, and then returns nil. It closes l.
func (s *Server) Serve(l net.Listener) error {
	if _, ok := l.Addr().(*net.TCPAddr); ok {
		s.mark(func() { s.base = orElse(s.base, "http://"+l.Addr().String()) })
	}
	return s.host.Serve(l)
}

// Close ends Serve, cuts all connections and waits for what is under way.
func (s *Server) Close() error {
	s.events.Close()
	s.mu.Lock()
	s.host.End()
	s.endEra()
	s.mu.Unlock()
	err := s.host.Close()
	s.app.CloseIdleConnections()
	return err
}

// Restart cuts every connection, socket and call in flight, as a restart of the
// platform does, and refuses calls for the time down. What was stored stays,
// and what the app has not acknowledged is delivered again.
func (s *Server) Restart(down time.Duration) { s.restart(down, nil) }

// restart spares the connection that asked for it.
func (s *Server) restart(down time.Duration, spare net.Conn) {
	s.mu.Lock()
	s.publish(Event{Kind: "restart"})
	conns := s.host.Restart(down, spare)
	s.sockets = nil
	s.mu.Unlock()
	s.host.Drop(conns)
}

// ServeHTTP answers /api/<method>, /link/ (sockets), /upload/…, /files-pri/…,
// /respond/… and /control/….
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cut, down := s.host.Enter()
	defer s.host.Leave()

	path := r.URL.Path
	if strings.HasPrefix(path, "/control/") {
		s.serveControl(w, r, cut)
		return
	}
	if down {
		panic(http.ErrAbortHandler)
	}
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
		s.respond(w, answer{status: http.StatusNotFound, contentType: "text/plain; charset=utf-8", body: []byte("not found")})
	}
}

func orElse[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}
