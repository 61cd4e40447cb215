package discord

import (
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

const (
	// DefaultToken is the token of a bot whose options name none.
	DefaultToken = "MTAwMDAwMDAwMDAwMDAwMDAx.standin.ForLocalUseOnly-000000000000000000"
	// DefaultBot is the id of the bot and of its application.
	DefaultBot = "100000000000000001"
)

// Options configure a Server. The zero value is a bot with DefaultToken in DefaultGuild, without the
// privileged intents, under the published limits, without latency.
type Options struct {
	// Token is the only one that is accepted, without "Bot "; DefaultToken when empty.
	Token string
	// BotID is the id of the bot and of its application; DefaultBot when empty.
	BotID string
	// Username is the bot's; "telex" when empty.
	Username string
	// Limits are those the platform publishes: more is answered 429 and is a violation. Fields that are zero
	// are those of PublishedLimits.
	Limits Limits
	// Hidden are lower limits that the platform enforces without saying so: more is answered 429, of scope
	// shared, but is no violation. A kind of limit that is zero has none.
	Hidden Limits
	// Latency is how long each call takes, half of it before it takes effect. The gateway has none.
	Latency time.Duration
	// MessageContent says that the privileged intent is switched on for the application.
	MessageContent bool
	// Heartbeat is the interval that Hello asks for; 41.25 s when 0.
	Heartbeat time.Duration
	// ResumeWindow is how long a session waits for a resume; 3 minutes when 0. The platform publishes none.
	ResumeWindow time.Duration
	// NonceWindow is how long a nonce is remembered; 3 minutes when 0. The platform says "the past few minutes".
	NonceWindow time.Duration
	// Log gets one line per call at level debug; nil discards.
	Log *slog.Logger
}

// Server imitates Discord for one bot. It is an http.Handler; Serve adds a real or in-memory listener. All
// methods may be called from any goroutine.
type Server struct {
	opts   Options
	me     User
	log    *slog.Logger
	routes []route
	host   *host.Host
	faults fault.Table[Fault]
	holds  fault.Holds[Call]
	events watch.Hub[Event]

	mu      sync.Mutex // guards everything below; never held while waiting.
	started time.Time
	base    string // where clients reach the server, "http://host".

	ids         snowflakes
	users       map[string]User
	roles       []string
	guilds      map[string]*guild
	guildList   []*guild
	channels    map[string]*channel
	channelList []*channel
	nonces      map[string]*Message
	files       map[string]stored

	commands        map[string][]Command // by guild; "" for the global ones.
	newCommands     map[string]window
	interactions    map[string]*Interaction
	interactionList []*Interaction

	sockets      map[*socket]struct{}
	sessions     []*session
	lastIdentify time.Time
	refusals     int // resumes that will be refused.
	mute         int // connections that will get no Hello.

	limiter limiter
	calls   []*Call
	stats   Stats
}

// New returns a server with one guild. The caller closes it.
func New(opts Options) *Server {
	opts.Token = orElse(opts.Token, DefaultToken)
	opts.BotID = orElse(opts.BotID, DefaultBot)
	opts.Username = orElse(opts.Username, "telex")
	opts.Heartbeat = orElse(opts.Heartbeat, 41250*time.Millisecond)
	opts.ResumeWindow = orElse(opts.ResumeWindow, 3*time.Minute)
	opts.NonceWindow = orElse(opts.NonceWindow, 3*time.Minute)
	log := opts.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		opts:    opts,
		me:      User{ID: opts.BotID, Username: opts.Username, Discriminator: "0000", Bot: true},
		log:     log,
		sockets: make(map[*socket]struct{}),
		routes:  routes(),
	}
	s.host = host.New(s, log)
	s.resetLocked()
	return s
}

// Token is the token that the API accepts.
func (s *Server) Token() string { return s.opts.Token }

// Bot is the bot's own user; its id is the application's too.
func (s *Server) Bot() User { return s.me }

// Mention is the text that mentions the bot.
func (s *Server) Mention() string { return "<@" + s.me.ID + ">" }

// Reset forgets everything that happened: messages, sessions, commands, calls, counters and faults. All
// connections are cut.
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
	s.ids = newSnowflakes(s.started)
	s.users = map[string]User{s.me.ID: s.me}
	s.roles = []string{DefaultRole}
	s.guilds, s.guildList = make(map[string]*guild), nil
	s.channels, s.channelList = make(map[string]*channel), nil
	s.nonces, s.files = make(map[string]*Message), make(map[string]stored)
	s.commands, s.newCommands = make(map[string][]Command), make(map[string]window)
	s.interactions, s.interactionList = make(map[string]*Interaction), nil
	s.sessions, s.lastIdentify, s.refusals, s.mute = nil, time.Time{}, 0, 0
	s.limiter = newLimiter(s.opts.Limits, s.opts.Hidden)
	s.faults.Reset()
	s.holds.Reset()
	s.host.Refuse(time.Time{})
	s.calls = nil
	s.stats = newStats()
	s.person(DefaultPerson)
	s.textChannel(DefaultChannel, DefaultGuild).info.Name = "general"
}

// Serve answers requests on l until Close, and then returns nil. It closes l.
func (s *Server) Serve(l net.Listener) error { return s.host.Serve(l) }

// Close ends Serve, cuts all connections and waits for what is in flight.
func (s *Server) Close() error {
	s.events.Close()
	s.mu.Lock()
	s.host.End()
	conns := s.detachAll()
	s.mu.Unlock()
	s.host.Drop(conns)
	return s.host.Close()
}

// Restart cuts every connection, those to the gateway too, and every call in flight, as a restart of the
// platform does, and refuses everything for the time down. What was stored stays, sessions too.
func (s *Server) Restart(down time.Duration) { s.restart(down, nil) }

// restart spares the connection that asked for it.
func (s *Server) restart(down time.Duration, spare net.Conn) {
	s.mu.Lock()
	s.publish(Event{Kind: "restart"})
	conns := append(s.host.Restart(down, spare), s.detachAll()...)
	s.mu.Unlock()
	s.host.Drop(conns)
}

// ServeHTTP answers /api/v10/…, /attachments/…, /control/…, and the gateway at any path that asks for a WebSocket.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cut, down := s.host.Enter()
	defer s.host.Leave()
	if !strings.HasPrefix(r.URL.Path, "/control/") {
		s.mark(func() { s.base = "http://" + hostOf(r) })
	}

	switch {
	case strings.HasPrefix(r.URL.Path, "/control/"):
		s.serveControl(w, r, cut)
	case down:
		panic(http.ErrAbortHandler)
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		s.serveGateway(w, r, cut)
	default:
		s.serveAPI(w, r, cut)
	}
}

// hostOf is where the client reached the server. A client that was led here by its transport may still name
// the platform.
func hostOf(r *http.Request) string {
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = r.Host
	}
	if name == "discord.com" || strings.HasSuffix(name, ".discord.com") || strings.HasSuffix(name, ".discord.gg") {
		if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			return a.String()
		}
	}
	return r.Host
}
