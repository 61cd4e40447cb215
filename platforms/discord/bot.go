package discord

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// defaultAPIBase is the platform itself.
const defaultAPIBase = "https://discord.com"

// tokenShape is what a bot's token looks like: three parts of what can stand in an address. One that
// was cut while it was copied is seen here.
// https://docs.discord.com/developers/reference#authentication
var tokenShape = regexp.MustCompile(`^[0-9A-Za-z_-]+\.[0-9A-Za-z_-]+\.[0-9A-Za-z_-]+$`)

// Options says which bot to be and how to reach the platform.
type Options struct {
	Token   string            // without "Bot "; required
	Version string            // of the program; empty: not known
	APIBase string            // scheme and host; empty: the platform itself
	Threads bool              // a question in a guild's channel is answered in a thread that begins with it
	HTTP    http.RoundTripper // nil: a transport of the bot's own
	// Dial opens connections, those to the gateway too; nil: the network's.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	Log  *slog.Logger // nil: nothing is logged
}

// Bot is one bot account. Its methods may be called at the same time from many goroutines, but only one
// Run may be active.
type Bot struct {
	token   string
	api     string // with the version, without a slash
	threads bool
	agent   string // how the bot calls itself to servers
	client  *http.Client
	socket  *http.Client // opens connections to the gateway
	log     *slog.Logger

	heart        chat.Heartbeat
	interactions *interactions
	buckets      *buckets
	places       *places
	questions    *questions
	conclusions  chan chat.MessageID // of commands that may still show that the bot is thinking
	session      *session
	screen       chat.Screen // set before Run

	mu         sync.Mutex // guards what follows
	self       string     // the bot's user id; empty: not known yet
	app        string     // the application's id; empty: not known yet
	welcome    bool       // who the bot is was logged
	identified time.Time  // when the last session was asked for
}

// New returns a bot. It makes no network call: a wrong token shows in the first one.
func New(o Options) (*Bot, error) {
	o.Token = strings.TrimPrefix(o.Token, "Bot ")
	if !tokenShape.MatchString(o.Token) {
		return nil, errors.New("discord: the token is empty or not of the form MTIz.GabCde.xyz")
	}
	if o.APIBase == "" {
		o.APIBase = defaultAPIBase
	}
	if u, err := url.Parse(o.APIBase); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New("discord: api_base must be an http or https address")
	}
	own := newTransport(o.Dial)
	if o.HTTP == nil {
		o.HTTP = own
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Bot{
		token:   o.Token,
		api:     strings.TrimRight(o.APIBase, "/") + "/api/v10",
		threads: o.Threads,
		agent:   userAgent(o.Version),
		client:  &http.Client{Transport: o.HTTP, CheckRedirect: refuseRedirect},
		socket:  &http.Client{Transport: own, CheckRedirect: refuseRedirect},
		log:     o.Log,

		interactions: newInteractions(),
		buckets:      newBuckets(),
		places:       newPlaces(),
		questions:    newQuestions(),
		conclusions:  make(chan chat.MessageID, mostConclusions),
		session:      &session{},
	}, nil
}

// Screen tells the bot what to answer before a message is stored.
func (b *Bot) Screen(s chat.Screen) { b.screen = s }

// Close lets go of the connections that no call uses. Calls may follow; they open new ones.
func (b *Bot) Close() {
	b.client.CloseIdleConnections()
	b.socket.CloseIdleConnections()
}

// Capabilities states that messages can be edited and deleted, that they can be files and have
// buttons, that typing can be shown, that what people attach can be fetched, that commands are
// offered to them, and that the bot wants to know when it has answered.
func (b *Bot) Capabilities() chat.Capabilities {
	return chat.Capabilities{
		Edit: true, Delete: true, Typing: true, File: true, Fetch: true, Menu: true, Told: true, Buttons: true,
	}
}

// Dialect returns how text is written, the same everywhere.
func (b *Bot) Dialect(chat.Target) markup.Dialect { return Dialect{} }

// refuseRedirect keeps a redirect from carrying the token, or the message once more, to another
// place. The API itself never redirects.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// newTransport returns the transport of bots that were given none. It speaks HTTP/1.1 only: a
// connection that breaks then makes one call uncertain, not all that were in flight.
func newTransport(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *http.Transport {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dial,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: endpointCount,
		IdleConnTimeout:     90 * time.Second,
		Protocols:           protocols,
	}
}
