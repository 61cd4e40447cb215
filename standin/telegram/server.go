package telegram

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"telex/standin/quota"
	"telex/standin/rig"
)

// DefaultToken is the bot's token if Options set none.
const DefaultToken = "1234567890:AAStandInTokenForLocalUseOnly0000000"

// Options configures a Server. The zero value configures a bot with DefaultToken, the published limits, and no latency.
type Options struct {
	// Token is the only token that the server accepts; DefaultToken if empty.
	Token string
	// Username is the bot's username without "@"; "telex_bot" if empty.
	Username string
	// Name is the bot's first name; "Telex" if empty.
	Name string
	// BotID is the bot's user id. 0 means the number in Token.
	BotID int64
	// Limits are the published limits. A call that exceeds a published limit gets 429 and counts as a violation. A zero
	// field means the value in PublishedLimits.
	Limits Limits
	// Hidden are lower limits that the server enforces although they are not published. A call that exceeds a hidden limit
	// gets 429, but is not a violation. A zero field means no limit.
	Hidden Limits
	// Latency is the duration of each call. Each call takes effect after half of the latency. A long poll takes the
	// latency in addition to the time for which it waits for updates.
	Latency time.Duration
	// ReadAll disables privacy mode: the bot sees all messages of groups.
	ReadAll bool
	// GrowingIDs means that the server derives the first ids of updates and messages from the clock. With GrowingIDs, the
	// server uses no id again after Reset, or after a restart of the stand-in's process. Without GrowingIDs, the first ids
	// are always the same.
	GrowingIDs bool
	// Dial opens connections to webhooks. If Dial is nil, the server connects only to webhooks on this machine.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Log receives one line per call at level debug; nil: no log.
	Log *slog.Logger
}

// Server imitates the Bot API for one bot. A Server is an http.Handler. Serve answers requests on a listener, which may
// be a network listener or an in-memory listener. All methods are safe for concurrent use.
type Server struct {
	rig.Rig[Call, Event]

	opts  Options
	token atomic.Pointer[string] // the only valid token
	me    User

	mu      sync.Mutex // guards the following fields; no goroutine waits while it holds mu
	started time.Time

	chats      map[int64]*chat
	users      map[int64]User
	firstID    int // each sequence of message ids begins at firstID+1
	nextShared int // the last message id in private chats and basic groups, which have one common sequence
	nextQuery  int
	queries    map[string]time.Time // callback queries that the bot has not answered yet
	answers    []CallbackAnswer
	commands   map[menuKey][]Command

	files    map[string]*storedFile // by file_id
	links    map[string]*storedFile // by file_path
	nextLink int
	albums   int

	richUnsupported bool // the server does not support rich messages

	updates    queue
	deliveries []Delivery
	bot        *http.Client // the client that posts to the webhook

	limiter limiter
	stats   Stats // the counters, except those in rig.Stats
}

// New returns a server without chats. The caller must close the server.
func New(opts Options) *Server {
	opts.Token = cmp.Or(opts.Token, DefaultToken)
	opts.Username = cmp.Or(opts.Username, "telex_bot")
	opts.Name = cmp.Or(opts.Name, "Telex")
	if opts.BotID == 0 {
		number, _, _ := strings.Cut(opts.Token, ":")
		opts.BotID, _ = strconv.ParseInt(number, 10, 64)
	}
	s := &Server{
		opts: opts,
		me:   User{ID: opts.BotID, IsBot: true, FirstName: opts.Name, Username: opts.Username},
	}
	s.SetToken(opts.Token)
	if opts.Dial == nil {
		opts.Dial = dialLocal
	}
	s.bot = &http.Client{
		Transport:     &http.Transport{DialContext: opts.Dial, MaxIdleConnsPerHost: maxConnections},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	rig.Init(&s.Rig, rig.Platform[Call, Event]{
		Name: "telegram", Handler: s, Mutex: &s.mu, Log: opts.Log, Latency: opts.Latency,
		Serve: s.serve, Control: s.controls(), Reset: s.reset,
		Call: func(c *Call) *rig.Call { return &c.Call }, Finish: s.finish,
		Head: func(e *Event) *rig.EventHead[Call] { return &e.EventHead }, Place: setEventChat, Isolate: copyEvent,
		Check: checkFault, Chooses: faultMatches, Act: s.applyFault, Bend: changeAnswer,
	})
	return s
}

// Token returns the valid token.
func (s *Server) Token() string { return *s.token.Load() }

// SetToken replaces the bot's token, as @BotFather can do. After SetToken, the API refuses the old token.
func (s *Server) SetToken(token string) { s.token.Store(&token) }

// Bot returns the bot's user.
func (s *Server) Bot() User { return s.me }

// reset removes all state. The caller holds s.mu.
func (s *Server) reset() {
	s.started = time.Now()
	s.dropWebhook(true)
	s.firstID, s.updates = s.initialState()
	s.deliveries = nil
	s.chats = make(map[int64]*chat)
	s.users = map[int64]User{s.me.ID: s.me}
	s.nextShared, s.nextQuery = s.firstID, s.firstID
	s.queries = make(map[string]time.Time)
	s.answers = nil
	s.commands = make(map[menuKey][]Command)
	s.files, s.links = make(map[string]*storedFile), make(map[string]*storedFile)
	s.nextLink, s.albums = 0, 0
	s.limiter = limiter{quota.NewScopes(effectiveLimits(s.opts.Limits, s.opts.Hidden))}
	s.stats = Stats{}
}

// Close ends Serve, closes all connections and waits for running calls.
func (s *Server) Close() error {
	s.Locked(func() { s.dropWebhook(false) })
	err := s.Rig.Close()
	s.bot.CloseIdleConnections()
	return err
}

// ServeHTTP serves /bot<token>/<method>, /file/bot<token>/<file_path>, /control/… and the page at /. The page also
// works during a restart.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, prefix := range []string{"/control/", "/bot", "/file/bot"} {
		if strings.HasPrefix(r.URL.Path, prefix) {
			s.Rig.ServeHTTP(w, r)
			return
		}
	}
	s.servePage(w, r)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	if strings.HasPrefix(r.URL.Path, "/file/") {
		s.serveDownload(w, r, cut)
		return
	}
	s.serveBot(w, r, cut)
}
