package telegram

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
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
	// Log gets one line per call at level debug; nil discards.
	Log *slog.Logger
}

// Server imitates the Bot API for one bot. It is an http.Handler; Serve adds a
// real or in-memory listener. All methods may be called from any goroutine.
type Server struct {
	opts Options
	me   User
	log  *slog.Logger

	closed chan struct{} // closed by Close.

	mu        sync.Mutex // guards everything below; never held while waiting.
	started   time.Time
	isClosed  bool
	cut       chan struct{} // closed and replaced by Restart.
	downUntil time.Time
	// refuseUntil is when an outage ends that lets nobody in.
	refuseUntil time.Time
	inflight    sync.WaitGroup // requests being answered; Add only under mu.
	https       []*http.Server
	doors       []*door
	conns       map[net.Conn]struct{}

	chats      map[int64]*chat
	users      map[int64]User
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
	faults  faults
	calls   []*Call
	stats   Stats
	events  hub
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
		opts:   opts,
		me:     User{ID: opts.BotID, IsBot: true, FirstName: opts.Name, Username: opts.Username},
		log:    log,
		closed: make(chan struct{}),
		conns:  make(map[net.Conn]struct{}),
	}
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
	if s.cut == nil {
		s.cut = make(chan struct{})
	}
	s.chats = make(map[int64]*chat)
	s.users = map[int64]User{s.me.ID: s.me}
	s.nextShared, s.nextQuery = 0, 0
	s.queries = make(map[string]time.Time)
	s.answers = nil
	s.commands = make(map[menuKey][]Command)
	s.files, s.links = make(map[string]*storedFile), make(map[string]*storedFile)
	s.nextLink, s.albums = 0, 0
	s.updates = newQueue()
	s.limiter = newLimiter(s.opts.Limits, s.opts.Hidden)
	s.faults, s.refuseUntil = faults{}, time.Time{}
	s.calls = nil
	s.stats = newStats()
}

// Serve answers requests on l until Close, and then returns nil. It closes l.
func (s *Server) Serve(l net.Listener) error {
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: time.Minute,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		ConnState: s.trackConn,
		ErrorLog:  slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.mu.Lock()
	if s.isClosed {
		s.mu.Unlock()
		return errors.Join(http.ErrServerClosed, l.Close())
	}
	d := newDoor(s, l)
	s.https, s.doors = append(s.https, srv), append(s.doors, d)
	s.mu.Unlock()
	err := srv.Serve(d)
	select {
	case <-s.closed: // a door that was shut just then ends Serve in its own way
		return nil
	default:
		return err
	}
}

type connKey struct{}

func (s *Server) trackConn(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.conns[c] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(s.conns, c)
	case http.StateActive, http.StateIdle:
	}
}

// Close ends Serve, cuts all connections and waits for the requests in flight.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.isClosed {
		s.mu.Unlock()
		s.inflight.Wait()
		return nil
	}
	s.isClosed = true
	close(s.closed)
	servers := s.https
	s.events.closeAll()
	s.mu.Unlock()
	var errs []error
	for _, srv := range servers {
		errs = append(errs, srv.Close())
	}
	s.inflight.Wait()
	return errors.Join(errs...)
}

// Restart cuts every connection and every call in flight, as a restart of the
// platform does, and refuses calls for the time down. What was stored stays.
func (s *Server) Restart(down time.Duration) { s.restart(down, nil) }

// restart spares the connection that asked for it.
func (s *Server) restart(down time.Duration, spare net.Conn) {
	s.mu.Lock()
	s.downUntil = time.Now().Add(down)
	s.publish(Event{Kind: "restart"})
	conns := s.cutLocked(spare)
	s.mu.Unlock()
	s.closeAll(conns)
}

func (s *Server) closeAll(conns []net.Conn) {
	for _, c := range conns {
		if err := c.Close(); err != nil {
			s.log.Debug("close connection", slog.Any("error", err))
		}
	}
}

// ServeHTTP answers /bot<token>/<method>, /file/bot<token>/<file_path>, /control/… and the page at /.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.isClosed {
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	s.inflight.Add(1)
	cut, down := s.cut, time.Now().Before(s.downUntil)
	s.mu.Unlock()
	defer s.inflight.Done()

	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/control/"):
		s.serveControl(w, r)
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
