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

// DefaultToken is the token of a bot whose options name none.
const DefaultToken = "1234567890:AAStandInTokenForLocalUseOnly0000000"

// Options configure a Server. The zero value is a bot with DefaultToken under
// the published limits, without latency.
type Options struct {
	// Token is the only one the API accepts; DefaultToken when empty.
	Token string
	// Username is the bot's, without "@"; "telex_bot" when empty.
	Username string
	// Name is the bot's first name; "Telex" when empty.
	Name string
	// BotID is the bot's user id; the number in Token when 0.
	BotID int64
	// Limits are those the platform publishes: more is answered 429 and is a
	// violation. The zero value means PublishedLimits.
	Limits Limits
	// Hidden are lower limits that the platform enforces without saying so: more
	// is answered 429 but is no violation. A kind of limit that is zero has none.
	Hidden Limits
	// Latency is how long each call takes, half of it before it takes effect.
	// A long poll adds it to its wait.
	Latency time.Duration
	// ReadAll turns privacy mode off: the bot sees all messages of groups.
	ReadAll bool
	// GrowingIDs lets the ids of updates and messages begin at a number that grows with the clock, so that none comes again
	// after a restart of the stand-in's process or after Reset. False: they begin at the same numbers each time.
	GrowingIDs bool
	// Dial makes the connections to a webhook; nil: to this machine only.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Log gets one line per call at level debug; nil discards.
	Log *slog.Logger
}

// Server imitates the Bot API for one bot. It is an http.Handler; Serve adds a
// real or in-memory listener. All methods may be called from any goroutine.
type Server struct {
	rig.Rig[Call, Event]

	opts  Options
	token atomic.Pointer[string] // the only one that the API accepts.
	me    User

	mu      sync.Mutex // guards everything below; never held while waiting.
	started time.Time

	chats      map[int64]*chat
	users      map[int64]User
	firstID    int // before the first message of a chat.
	nextShared int // message ids of private chats and basic groups are one sequence.
	nextQuery  int
	queries    map[string]time.Time // callback queries that wait for an answer.
	answers    []CallbackAnswer
	commands   map[menuKey][]Command

	files    map[string]*storedFile // by file_id.
	links    map[string]*storedFile // by file_path.
	nextLink int
	albums   int

	richless bool // it does not know rich messages.

	updates    queue
	deliveries []Delivery
	bot        *http.Client // posts to the webhook.

	limiter limiter
	stats   Stats // but for what the rig counts.
}

// New returns a server with no chats. The caller closes it.
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
		Head: func(e *Event) *rig.EventHead[Call] { return &e.EventHead }, Place: place, Isolate: isolate,
		Check: check, Chooses: chooses, Act: s.act, Bend: bend,
	})
	return s
}

// Token is the token that the API accepts.
func (s *Server) Token() string { return *s.token.Load() }

// SetToken gives the bot another token, as @BotFather does. The API refuses the one before.
func (s *Server) SetToken(token string) { s.token.Store(&token) }

// Bot is the bot's own user.
func (s *Server) Bot() User { return s.me }

// reset forgets everything that happened; s.mu is held.
func (s *Server) reset() {
	s.started = time.Now()
	s.dropWebhook(true)
	s.firstID, s.updates = s.begin()
	s.deliveries = nil
	s.chats = make(map[int64]*chat)
	s.users = map[int64]User{s.me.ID: s.me}
	s.nextShared, s.nextQuery = s.firstID, s.firstID
	s.queries = make(map[string]time.Time)
	s.answers = nil
	s.commands = make(map[menuKey][]Command)
	s.files, s.links = make(map[string]*storedFile), make(map[string]*storedFile)
	s.nextLink, s.albums = 0, 0
	s.limiter = limiter{quota.NewScopes(enforced(s.opts.Limits, s.opts.Hidden))}
	s.stats = Stats{}
}

// Close ends Serve, cuts all connections and waits for what is under way.
func (s *Server) Close() error {
	s.Locked(func() { s.dropWebhook(false) })
	err := s.Rig.Close()
	s.bot.CloseIdleConnections()
	return err
}

// ServeHTTP answers /bot<token>/<method>, /file/bot<token>/<file_path>, /control/… and the page at /, which is there
// during a restart too.
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
