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

// defaultAPIBase is the platform itself.
const defaultAPIBase = "https://discord.com"

// Options says which bot to be and how to reach the platform. The configuration has checked them.
type Options struct {
	Token   string            // without "Bot "; required
	Version string            // of the program; empty: not known
	APIBase string            // scheme and host; empty: the platform itself
	Threads bool              // a question in a guild's channel is answered in a thread that begins with it
	Content bool              // the privileged intent is requested, which tells the text of all messages
	HTTP    http.RoundTripper // nil: a transport of the bot's own
	Log     *slog.Logger      // nil: nothing is logged
}

// Bot is one bot account. Its methods may be called at the same time from many goroutines, but only one
// Run may be active.
type Bot struct {
	token   string
	secrets calls.Secrets
	api     string // with the version, without a slash
	threads bool
	content bool
	agent   string // how the bot calls itself to servers
	client  *http.Client
	log     *slog.Logger

	heart        chat.Heartbeat
	interactions *interactions
	buckets      *buckets
	places       *places
	questions    *receiving.Recent[string] // the names of threads that were not made yet
	concluded    chan command              // those that may still show that the bot is thinking
	session      *session
	greeting     receiving.Greeting
	screen       chat.Screen // set before Run

	mu   sync.Mutex // guards what follows
	self string     // the bot's user id; empty: not known yet
	name string     // the bot's username; empty: not known yet
	app  string     // the application's id; empty: not known yet
}

// New returns a bot. It makes no network call: a wrong token shows in the first one.
func New(o Options) *Bot {
	return &Bot{
		token:   o.Token,
		secrets: calls.Secrets{o.Token},
		api:     calls.Base(o.APIBase, defaultAPIBase) + "/api/v10",
		threads: o.Threads,
		content: o.Content,
		agent:   userAgent(o.Version),
		client:  calls.NewClient(o.HTTP, endpointCount),
		log:     cmp.Or(o.Log, slog.New(slog.DiscardHandler)),

		interactions: &interactions{known: receiving.NewRecent[*interaction](maxInteractions)},
		buckets:      newBuckets(),
		places: &places{
			channels: receiving.NewRecent[channelInfo](maxChannels), threadless: receiving.NewRecent[bool](maxChannels), roles: make(map[string]string),
		},
		questions: receiving.NewRecent[string](maxQuestions),
		concluded: make(chan command, maxConcluded),
		session:   &session{past: receiving.NewRecent[struct{}](maxPast)},
	}
}

// Screen tells the bot what to answer before a message is stored.
func (b *Bot) Screen(s chat.Screen) { b.screen = s }

// Close lets go of the connections that no call uses. Calls may follow; they open new ones.
func (b *Bot) Close() { b.client.CloseIdleConnections() }

// Capabilities implements gateway.Platform.
func (b *Bot) Capabilities() chat.Capabilities {
	return chat.Capabilities{
		Edit: true, Delete: true, Typing: true, File: true, Fetch: true, Menu: true, Concludes: true, Buttons: true, OneReceiver: true,
	}
}

// Dialect returns how text is written, the same everywhere.
func (b *Bot) Dialect(chat.Target) markup.Dialect { return Dialect{} }
