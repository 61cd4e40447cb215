package whatsapp

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

// These are the defaults for the business, its number and its app.
const (
	DefaultToken       = "EAAstandinForLocalUseOnly"
	DefaultAppSecret   = "standin-app-secret-local-use-only"
	DefaultVerifyToken = "standin-verify-token-local-use-only"
	// PhoneNumberID is the id of the business's number in paths. Number contains the digits of the business's phone
	// number. AccountID is the id of the number's WhatsApp Business Account.
	PhoneNumberID = "106540352242922"
	Number        = "15550783881"
	AccountID     = "102290129340398"

	verifiedName = "Stand-in"
)

// Options configures a Server. The zero value configures a number with the default secrets, under the published limits,
// without latency and without a callback URL.
type Options struct {
	// Token is the access token; DefaultToken if empty.
	Token string
	// AppSecret is the secret with which the server signs webhooks; DefaultAppSecret if empty.
	AppSecret string
	// VerifyToken is the token that the server sends to the callback URL in the handshake; DefaultVerifyToken if
	// empty.
	VerifyToken string
	// PhoneNumberID is the id of the business's number; the constant PhoneNumberID if empty.
	PhoneNumberID string
	// BaseURL is the base URL of the server for links to media. If BaseURL is empty, the server uses the URL at which the
	// last call arrived. Before the first call, the server uses the address of its TCP listener.
	BaseURL string
	// CallbackURL is the URL to which the server posts webhooks. Unlike SetCallback, this option causes no handshake. If
	// CallbackURL is empty, webhooks are lost.
	CallbackURL string
	// Dial opens connections to the callback URL. If Dial is nil, the server uses the real network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// BatchWindow is how long the server waits for further webhooks to send them in the same request. With BatchWindow 0,
	// the server sends each webhook in a request of its own.
	BatchWindow time.Duration
	// LateFailures makes the server accept a message that it can't deliver (error 131026) or that comes too late (error
	// 131047), and report the failure by a webhook. Without LateFailures, the server refuses such a message at once.
	LateFailures bool
	// Coexistence means that the number is also used in the WhatsApp Business app. With Coexistence, webhooks report
	// people's edits and deletions, and the number may send and receive 20 messages per second.
	Coexistence bool
	// Limits are the published limits. The server refuses a call that exceeds a published limit, and counts the call as a
	// violation. A zero field means the value in PublishedLimits.
	Limits Limits
	// Hidden are lower limits that the server enforces although they are not published. The server refuses a call that
	// exceeds a hidden limit, but does not count a violation. A zero field means no limit.
	Hidden Limits
	// Latency is the duration of each call. Each call takes effect after half of the latency.
	Latency time.Duration
	// Log receives one line per call at level debug; nil: no log.
	Log *slog.Logger
}

func (o Options) orDefaults() Options {
	o.Token = cmp.Or(o.Token, DefaultToken)
	o.AppSecret = cmp.Or(o.AppSecret, DefaultAppSecret)
	o.VerifyToken = cmp.Or(o.VerifyToken, DefaultVerifyToken)
	o.PhoneNumberID = cmp.Or(o.PhoneNumberID, PhoneNumberID)
	if o.Coexistence {
		o.Limits.PerSecond = cmp.Or(o.Limits.PerSecond, coexistencePerSecond)
	}
	return o
}

// Server imitates the WhatsApp Cloud API for one business number. A Server is an http.Handler. Serve answers requests
// on a listener, which may be a network listener or an in-memory listener. All methods are safe for concurrent use.
type Server struct {
	rig.Rig[Call, Event]

	opts Options
	app  *http.Client // the client that posts to the callback URL

	mu      sync.Mutex // guards the following fields; no goroutine waits while it holds mu
	started time.Time
	// background is the context of deliveries, which continue after the calls that caused them. Close ends this context,
	// and Reset replaces it by a new one.
	background    context.Context //nolint:containedctx // deliveries outlive calls
	endBackground context.CancelFunc

	base     string // base URL for links: Options.BaseURL, or the URL of the last call
	callback string
	expired  bool // the access token has expired

	persons  map[string]*conversation // by business-scoped user id
	byPhone  map[string]*conversation
	messages map[string]*Message // by id
	media    map[string]*media
	serial   int // the last number of a generated id

	batch      []*webhookItem             // items that wait for BatchWindow to end
	lastByUser map[string]<-chan struct{} // by user; closed after the first attempt to deliver the user's last webhook
	deliveries []*Delivery
	retry      chan struct{} // Redeliver closes and replaces this channel

	limiter limiter
	stats   Stats // the counters, except those in rig.Stats
}

// New returns a server for a number to which nobody has written yet. The caller must close the server.
func New(opts Options) *Server {
	opts = opts.orDefaults()
	s := &Server{
		opts: opts,
		app: &http.Client{
			Transport:     &http.Transport{DialContext: opts.Dial},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base: strings.TrimSuffix(opts.BaseURL, "/"), callback: opts.CallbackURL,
	}
	rig.Init(&s.Rig, rig.Platform[Call, Event]{
		Name: "whatsapp", Handler: s, Mutex: &s.mu, Log: opts.Log, Latency: opts.Latency,
		Serve: s.serve, Control: s.controls(), Reset: s.reset,
		Call: func(c *Call) *rig.Call { return &c.Call }, Finish: s.finish,
		Head: func(e *Event) *rig.EventHead[Call] { return &e.EventHead }, Place: setEventUser, Isolate: copyEvent,
		Check: checkFault, Chooses: faultMatches, Act: s.applyFault,
	})
	return s
}

// Token returns the valid access token.
func (s *Server) Token() string { return s.opts.Token }

// AppSecret returns the secret with which the server signs webhooks.
func (s *Server) AppSecret() string { return s.opts.AppSecret }

// VerifyToken returns the token that the handshake sends to the callback URL.
func (s *Server) VerifyToken() string { return s.opts.VerifyToken }

// reset removes all state and drops pending deliveries. The caller holds s.mu.
func (s *Server) reset() {
	if s.endBackground != nil {
		s.endBackground()
	}
	s.background, s.endBackground = context.WithCancel(context.Background())
	s.started = time.Now()
	s.expired = false
	s.persons, s.byPhone = make(map[string]*conversation), make(map[string]*conversation)
	s.messages, s.media = make(map[string]*Message), make(map[string]*media)
	s.batch, s.lastByUser, s.deliveries = nil, make(map[string]<-chan struct{}), nil
	s.retry = make(chan struct{})
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

// ExpireToken makes the access token invalid, as if it had expired. If expired is false, ExpireToken makes the token
// valid again.
func (s *Server) ExpireToken(expired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = expired
}
