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

// The business, its number and its app. Options can name others.
const (
	DefaultToken       = "EAAstandinForLocalUseOnly"
	DefaultAppSecret   = "standin-app-secret-local-use-only"
	DefaultVerifyToken = "standin-verify-token-local-use-only"
	// PhoneNumberID is the id of the business's number in paths, Number its digits, and AccountID its WhatsApp
	// Business Account.
	PhoneNumberID = "106540352242922"
	Number        = "15550783881"
	AccountID     = "102290129340398"

	verifiedName = "Stand-in"
)

// Options configures a Server. The zero value is a number with the default secrets, under the published limits,
// without latency and without a callback URL.
type Options struct {
	// Token is the access token; DefaultToken when empty.
	Token string
	// AppSecret signs webhooks; DefaultAppSecret when empty.
	AppSecret string
	// VerifyToken is shown to the callback URL in the handshake; DefaultVerifyToken when empty.
	VerifyToken string
	// PhoneNumberID is that of the business's number; the constant of that name when empty.
	PhoneNumberID string
	// BaseURL is where clients reach the server, for the links to media. When empty it is what the last call used,
	// else the TCP listener's address.
	BaseURL string
	// CallbackURL gets the webhooks, without the handshake that SetCallback makes first. Without one they are lost.
	CallbackURL string
	// Dial reaches the callback URL; nil is the real network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// BatchWindow is how long webhooks wait for others that share their request. When 0, each has its own.
	BatchWindow time.Duration
	// LateFailures makes the platform accept a message that it can't deliver (131026), or that comes outside of the
	// window (131047), and tell of the failure by a webhook. Otherwise it refuses the message at once.
	LateFailures bool
	// Coexistence makes the number one that is also used in the WhatsApp Business app: a person's edits and deletions
	// are told, and the throughput is 20 messages per second.
	Coexistence bool
	// Limits are those the platform publishes; calls beyond them are refused and are violations. The zero value means
	// PublishedLimits.
	Limits Limits
	// Hidden are lower limits that the platform enforces without saying so: calls beyond them are refused but are no
	// violations. A kind of limit that is zero has none.
	Hidden Limits
	// Latency is how long each call takes, half of it before it takes effect.
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

// Server imitates the WhatsApp Cloud API for one business number. It is an http.Handler; Serve adds a real or
// in-memory listener. All methods are safe for concurrent use.
type Server struct {
	rig.Rig[Call, Event]

	opts Options
	app  *http.Client // posts to the callback URL.

	mu      sync.Mutex // guards the following fields; never held while waiting
	started time.Time
	// era is what deliveries live in, which outlive what caused them: ended by Close, ended and replaced by Reset.
	era    context.Context //nolint:containedctx // see above
	endEra context.CancelFunc

	base     string // as told or learned; see Options.BaseURL.
	callback string
	expired  bool // the access token is.

	persons  map[string]*conversation // by business-scoped user id.
	byPhone  map[string]*conversation
	messages map[string]*Message // by id.
	media    map[string]*media
	serial   int // of everything that gets an id.

	batch      []*notice                  // of the webhooks that wait for others.
	lanes      map[string]<-chan struct{} // closed once a person's last webhook was tried.
	deliveries []*Delivery
	retry      chan struct{} // closed and replaced by Redeliver.

	limiter limiter
	stats   Stats // except for what the rig counts.
}

// New returns a number to which nobody has written. The caller must close it.
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
		Head: func(e *Event) *rig.EventHead[Call] { return &e.EventHead }, Place: place, Isolate: isolate,
		Check: check, Chooses: chooses, Act: s.act,
	})
	return s
}

// Token is the access token that the API accepts.
func (s *Server) Token() string { return s.opts.Token }

// AppSecret is what webhooks are signed with.
func (s *Server) AppSecret() string { return s.opts.AppSecret }

// VerifyToken is what the handshake shows to the callback URL.
func (s *Server) VerifyToken() string { return s.opts.VerifyToken }

// reset forgets everything that happened, and what was not delivered yet never will be. The caller holds s.mu.
func (s *Server) reset() {
	if s.endEra != nil {
		s.endEra()
	}
	s.era, s.endEra = context.WithCancel(context.Background())
	s.started = time.Now()
	s.expired = false
	s.persons, s.byPhone = make(map[string]*conversation), make(map[string]*conversation)
	s.messages, s.media = make(map[string]*Message), make(map[string]*media)
	s.batch, s.lanes, s.deliveries = nil, make(map[string]<-chan struct{}), nil
	s.retry = make(chan struct{})
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

// ExpireToken makes the access token invalid, as when it expires or is revoked, or valid again.
func (s *Server) ExpireToken(expired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = expired
}
