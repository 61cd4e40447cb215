package discord

import (
	"cmp"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"telex/standin/quota"
	"telex/standin/rig"
)

const (
	// DefaultToken is the bot's token if Options set none.
	DefaultToken = "MTAwMDAwMDAwMDAwMDAwMDAx.standin.ForLocalUseOnly-000000000000000000"
	// DefaultBot is the id of the bot and of its application.
	DefaultBot = "100000000000000001"
)

// Options configures a Server. The zero value configures a bot with DefaultToken in DefaultGuild, without the
// privileged intents, under the published limits, without latency.
type Options struct {
	// Token is the only valid token, without "Bot "; DefaultToken if empty.
	Token string
	// BotID is the id of the bot and of its application; DefaultBot if empty.
	BotID string
	// Username is the bot's username; "telex" if empty.
	Username string
	// Limits are the published limits. A call that exceeds a published limit gets 429 and counts as a violation. A zero
	// field means the value in PublishedLimits.
	Limits Limits
	// Hidden are lower limits that the server enforces although they are not published. A call that exceeds a hidden limit
	// gets 429 with the scope shared, but is not a violation. A zero field means no limit.
	Hidden Limits
	// Latency is the duration of each call. Each call takes effect after half of the latency. The gateway has no latency.
	Latency time.Duration
	// MessageContent means that the privileged message content intent is enabled for the application. AllowContent can
	// enable or disable the intent later.
	MessageContent bool
	// Heartbeat is the interval that Hello requests; 0 means 41.25 s.
	Heartbeat time.Duration
	// ResumeWindow is how long a client can resume a session after its connection has ended; 0 means 3 minutes. Discord
	// publishes no value for this time.
	ResumeWindow time.Duration
	// NonceWindow is how long the server remembers a nonce; 0 means 3 minutes. About this time, Discord's documentation
	// says only "the past few minutes".
	NonceWindow time.Duration
	// Log receives one line per call at level debug; nil: no log.
	Log *slog.Logger
}

// Server imitates Discord for one bot. A Server is an http.Handler. Serve answers requests on a listener, which may be
// a network listener or an in-memory listener. All methods may be called from any goroutine.
type Server struct {
	rig.Rig[Call, Event]

	opts   Options
	me     User
	routes []route

	mu      sync.Mutex // guards the following fields; no goroutine waits while it holds mu
	started time.Time
	base    string // base URL of the server for clients, "http://host"

	ids         snowflakes
	users       map[string]User
	roles       []string
	guilds      map[string]*guild
	guildList   []*guild
	channels    map[string]*channel
	channelList []*channel
	nonces      map[string]*Message
	files       map[string]storedFile

	commands        map[string][]Command // by guild; the key "" has the global commands
	newCommands     map[string]*quota.Fixed
	interactions    map[string]*Interaction
	interactionList []*Interaction

	sockets      map[*socket]struct{}
	sessions     []*session
	lastIdentify time.Time
	refusals     int // number of resumes that will be refused
	mute         int // number of connections that will get no Hello

	limiter limiter
	stats   Stats // the counters, except those in rig.Stats
}

// New returns a server with one guild. The caller must close the server.
func New(opts Options) *Server {
	opts.Token = cmp.Or(opts.Token, DefaultToken)
	opts.BotID = cmp.Or(opts.BotID, DefaultBot)
	opts.Username = cmp.Or(opts.Username, "telex")
	opts.Heartbeat = cmp.Or(opts.Heartbeat, 41250*time.Millisecond)
	opts.ResumeWindow = cmp.Or(opts.ResumeWindow, 3*time.Minute)
	opts.NonceWindow = cmp.Or(opts.NonceWindow, 3*time.Minute)
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		opts:    opts,
		me:      User{ID: opts.BotID, Username: opts.Username, Discriminator: "0000", Bot: true},
		sockets: make(map[*socket]struct{}),
		routes:  routes(),
	}
	rig.Init(&s.Rig, rig.Platform[Call, Event]{
		Name: "discord", Handler: s, Mutex: &s.mu, Log: opts.Log, Latency: opts.Latency,
		Serve: s.serve, Control: s.controls(), Reset: s.reset, Detach: s.detachAll,
		Call: func(c *Call) *rig.Call { return &c.Call }, Finish: s.finish,
		Head: func(e *Event) *rig.EventHead[Call] { return &e.EventHead }, Place: setEventChannel, Isolate: copyEvent,
		Check: checkFault, Chooses: faultMatches, Act: s.applyFault,
	})
	return s
}

// Token returns the valid token.
func (s *Server) Token() string { return s.opts.Token }

// Bot returns the bot's user. The bot's application has the same id as this user.
func (s *Server) Bot() User { return s.me }

// Mention returns the text that mentions the bot.
func (s *Server) Mention() string { return "<@" + s.me.ID + ">" }

// AllowContent enables or disables the privileged intent for the text of messages, as the application's owner does in
// the Developer Portal. Existing sessions keep their intents. The gateway closes the connection of a client that
// requests the disabled intent with the code 4014.
func (s *Server) AllowContent(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.MessageContent = on
}

// reset removes all state. The caller holds s.mu.
func (s *Server) reset() {
	s.started = time.Now()
	s.ids = newSnowflakes(s.started)
	s.users = map[string]User{s.me.ID: s.me}
	s.roles = []string{DefaultRole}
	s.guilds, s.guildList = make(map[string]*guild), nil
	s.channels, s.channelList = make(map[string]*channel), nil
	s.nonces, s.files = make(map[string]*Message), make(map[string]storedFile)
	s.commands, s.newCommands = make(map[string][]Command), make(map[string]*quota.Fixed)
	s.interactions, s.interactionList = make(map[string]*Interaction), nil
	s.sessions, s.lastIdentify, s.refusals, s.mute = nil, time.Time{}, 0, 0
	s.limiter = limiter{quota.NewScopes(effectiveLimits(s.opts.Limits, s.opts.Hidden))}
	s.stats = Stats{}
	s.person(DefaultPerson)
	s.textChannel(DefaultChannel, DefaultGuild).info.Name = "general"
}

// serve answers requests to /api/v10/… and /attachments/…. If a request at any path asks for a WebSocket, serve treats
// it as a connection to the gateway.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	s.Locked(func() { s.base = "http://" + hostOf(r) })
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		s.serveGateway(w, r, cut)
		return
	}
	s.serveAPI(w, r, cut)
}

// hostOf returns the host at which the client reached the server. The Host header alone is not enough: the header may
// contain Discord's name, while the client's transport redirects the call to this server.
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
