package discord

import (
	"cmp"
	"log/slog"
	"net/http"
	"sync"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/internal/calls"
	"telex/platforms/internal/receiving"
)

// defaultAPIBase is the URL of Discord itself.
const defaultAPIBase = "https://discord.com"

// Options says which bot to run and how to reach the platform. Package internal/config has validated the options.
type Options struct {
	Token   string            // the bot's token without the prefix "Bot "; required
	Version string            // telex's version; empty: unknown
	APIBase string            // scheme and host of the API; empty: Discord itself
	Threads bool              // answer a question in a guild's channel in a thread that starts at the question
	Content bool              // request the privileged intent, with which Discord sends the text of all messages
	HTTP    http.RoundTripper // nil: the bot creates its own transport
	Log     *slog.Logger      // nil: nothing is logged
}

// Bot is a client for one bot account. The methods of a Bot are safe for concurrent use, but only one call of Run may
// be active at a time.
type Bot struct {
	token         string
	secrets       calls.Secrets
	api           string // base URL with the version, without a trailing slash
	threads       bool
	contentIntent bool
	userAgent     string // value of the User-Agent header
	client        *http.Client
	clock         *calls.Clock // tells the time of Discord's servers
	log           *slog.Logger

	heart        chat.Heartbeat
	interactions *interactions
	buckets      *buckets
	channels     *channelCache
	questions    *receiving.Recent[string] // maps the id of a question to the name of the thread that the bot will create
	answered     chan command              // slash commands that are answered but may still show "thinking…"
	session      *session
	greeting     receiving.Greeting
	screen       chat.Screen // set before Run

	mu     sync.Mutex // protects the following fields
	selfID string     // the bot's user id; empty: not known yet
	name   string     // the bot's username; empty: not known yet
	appID  string     // the application's id; empty: not known yet
}

// New returns a bot. New makes no network call, so a wrong token is detected only when the bot first calls the API.
func New(o Options) *Bot {
	client := calls.NewClient(o.HTTP, maxPerSecond)
	return &Bot{
		token:         o.Token,
		secrets:       calls.Secrets{o.Token},
		api:           calls.Base(o.APIBase, defaultAPIBase) + "/api/v10",
		threads:       o.Threads,
		contentIntent: o.Content,
		userAgent:     userAgent(o.Version),
		client:        client,
		clock:         calls.NewClock(client),
		log:           cmp.Or(o.Log, slog.New(slog.DiscardHandler)),

		interactions: &interactions{known: receiving.NewRecent[*interaction](maxInteractions)},
		buckets:      newBuckets(),
		channels: &channelCache{
			channels: receiving.NewRecent[channelInfo](maxChannels), threadless: receiving.NewRecent[bool](maxChannels), roles: make(map[string]string),
		},
		questions: receiving.NewRecent[string](maxQuestions),
		answered:  make(chan command, maxAnswered),
		session:   &session{accepted: receiving.NewRecent[struct{}](maxAccepted)},
	}
}

// Screen implements gateway.Screener. The bot needs the functions in s when it answers a person before the person's
// message is stored.
func (b *Bot) Screen(s chat.Screen) { b.screen = s }

// Close closes idle connections. After Close, calls of the API open new connections.
func (b *Bot) Close() { b.client.CloseIdleConnections() }

// Capabilities implements gateway.Platform.
func (b *Bot) Capabilities() chat.Capabilities {
	return chat.Capabilities{
		Edit: true, Delete: true, Typing: true, File: true, Fetch: true, Menu: true, Concludes: true, Buttons: true, OneReceiver: true,
	}
}

// Dialect returns the dialect, which is the same in all chats.
func (b *Bot) Dialect(chat.Target) markup.Dialect { return Dialect{} }
