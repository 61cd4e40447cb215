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

// defaultAPIBase is Discord itself.
const defaultAPIBase = "https://discord.com"

// Options says which bot to run and how to reach the platform. The configuration has validated them.
type Options struct {
	Token   string            // without "Bot "; required
	Version string            // of the program; empty: unknown
	APIBase string            // scheme and host; empty: Discord itself
	Threads bool              // answer a question in a guild's channel in a thread that starts at the question
	Content bool              // request the privileged intent, which sends the text of all messages
	HTTP    http.RoundTripper // nil: the bot creates its own transport
	Log     *slog.Logger      // nil: nothing is logged
}

// Bot is one bot account. Its methods are safe for concurrent use, but only one Run may be active.
type Bot struct {
	token         string
	secrets       calls.Secrets
	api           string // base URL with the version, without a trailing slash
	threads       bool
	contentIntent bool
	userAgent     string // value of the User-Agent header
	client        *http.Client
	clock         *calls.Clock // Discord's
	log           *slog.Logger

	heart        chat.Heartbeat
	interactions *interactions
	buckets      *buckets
	channels     *channelCache
	questions    *receiving.Recent[string] // names of threads that do not exist yet, by question
	answered     chan command              // answered commands that may still show "thinking…"
	session      *session
	greeting     receiving.Greeting
	screen       chat.Screen // set before Run

	mu     sync.Mutex // guards the following fields
	selfID string     // the bot's user id; empty: not known yet
	name   string     // the bot's username; empty: not known yet
	appID  string     // the application's id; empty: not known yet
}

// New returns a bot. It makes no network call, so only the first call finds a wrong token.
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

// Screen sets what the bot answers before a message is stored.
func (b *Bot) Screen(s chat.Screen) { b.screen = s }

// Close closes idle connections. Later calls open new ones.
func (b *Bot) Close() { b.client.CloseIdleConnections() }

// Capabilities implements gateway.Platform.
func (b *Bot) Capabilities() chat.Capabilities {
	return chat.Capabilities{
		Edit: true, Delete: true, Typing: true, File: true, Fetch: true, Menu: true, Concludes: true, Buttons: true, OneReceiver: true,
	}
}

// Dialect returns the dialect, which is the same in all chats.
func (b *Bot) Dialect(chat.Target) markup.Dialect { return Dialect{} }
