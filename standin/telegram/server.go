package telegram

import (
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"telex/standin/fault"
	"telex/standin/host"
	"telex/standin/watch"
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
	// Log gets one line per call at level debug; nil discards.
	Log *slog.Logger
}

// Server imitates the Bot API for one bot. It is an http.Handler; Serve adds a
// real or in-memory listener. All methods may be called from any goroutine.
type Server struct {
	opts   Options
	me     User
	log    *slog.Logger
	host   *host.Host
	faults fault.Table[Fault]
	holds  fault.Holds[Call]
	events watch.Hub[Event]

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

	updates queue
	limiter limiter
	calls   []*Call
	stats   Stats
}

// New returns a server with no chats. The caller closes it.
func New(opts Options) *Server {
	if opts.Token == "" {
		opts.Token = DefaultToken
	}
	if opts.Username == "" {
		opts.Username = "telex_bot"
	}
	if opts.Name == "" {
		opts.Name = "Telex"
	}
	if opts.BotID == 0 {
		number, _, _ := strings.Cut(opts.Token, ":")
		opts.BotID, _ = strconv.ParseInt(number, 10, 64)
	}
	log := opts.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		opts: opts,
		me:   User{ID: opts.BotID, IsBot: true, FirstName: opts.Name, Username: opts.Username},
		log:  log,
	}
	s.host = host.New(s, log)
	s.resetLocked()
	return s
}

// Token is the token that the API accepts.
func (s *Server) Token() string { return s.opts.Token }

// Bot is the bot's own user.
func (s *Server) Bot() User { return s.me }

// Reset forgets everything that happened: chats, updates, calls, counters,
// faults and blocked windows. Calls in flight are cut.
func (s *Server) Reset() { s.reset(nil) }

func (s *Server) reset(spare net.Conn) {
	s.restart(0, spare)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resetLocked()
	s.publish(Event{Kind: "reset"})
}

func (s *Server) resetLocked() {
	s.started = time.Now()
	s.firstID, s.updates = s.begin()
	s.chats = make(map[int64]*chat)
	s.users = map[int64]User{s.me.ID: s.me}
	s.nextShared, s.nextQuery = s.firstID, s.firstID
	s.queries = make(map[string]time.Time)
	s.answers = nil
	s.commands = make(map[menuKey][]Command)
	s.files, s.links = make(map[string]*storedFile), make(map[string]*storedFile)
	s.nextLink, s.albums = 0, 0
	s.limiter = newLimiter(s.opts.Limits, s.opts.Hidden)
	s.faults.Reset()
	s.holds.Reset()
	s.host.Refuse(time.Time{})
	s.calls = nil
	s.stats = newStats()
}

// Serve answers requests on l until Close, and then returns nil. It closes l.
func (s *Server) Serve(l net.Listener) error { return s.host.Serve(l) }

// Close ends Serve, cuts all connections and waits for the requests in flight.
func (s *Server) Close() error {
	s.events.Close()
	return s.host.Close()
}

// Restart cuts every connection and every call in flight, as a restart of the
// platform does, and refuses calls for the time down. What was stored stays.
func (s *Server) Restart(down time.Duration) { s.restart(down, nil) }

// restart spares the connection that asked for it.
func (s *Server) restart(down time.Duration, spare net.Conn) {
	s.mu.Lock()
	s.publish(Event{Kind: "restart"})
	conns := s.host.Restart(down, spare)
	s.mu.Unlock()
	s.host.Drop(conns)
}

// ServeHTTP answers /bot<token>/<method>, /file/bot<token>/<file_path>, /control/… and the page at /.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cut, down := s.host.Enter()
	defer s.host.Leave()

	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/control/"):
		s.serveControl(w, r, cut)
	case strings.HasPrefix(path, "/bot"), strings.HasPrefix(path, "/file/bot"):
		if down {
			panic(http.ErrAbortHandler)
		}
		if strings.HasPrefix(path, "/file/") {
			s.serveDownload(w, r, cut)
			return
		}
		s.serveBot(w, r, cut)
	default:
		s.servePage(w, r)
	}
}
