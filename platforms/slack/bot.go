package slack

import (
	"cmp"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	library "github.com/slack-go/slack"
	"golang.org/x/sync/semaphore"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/internal/calls"
	"telex/platforms/internal/receiving"
	"telex/platforms/internal/webhook"
)

// defaultAPIBase is the base URL of the Web API's methods.
const defaultAPIBase = "https://slack.com/api/"

// Options says which app to run and how to reach Slack. Options sets either AppToken, for Socket Mode, or SigningSecret
// and Listen, for the Events API over HTTP. Package internal/config has validated the options.
type Options struct {
	BotToken      string            // the token xoxb-… of the app's bot in the workspace; required
	AppToken      string            // the app's token xapp-… with the scope connections:write
	SigningSecret string            // the secret with which Slack signs its requests
	Listen        string            // host:port on which Slack's requests arrive, usually from a TLS proxy
	APIBase       string            // base URL of the API's methods; empty: Slack's own URL
	HTTP          http.RoundTripper // nil: the bot creates its own transport
	Log           *slog.Logger      // nil: nothing is logged

	// Listener creates a listener for each Run, and Run closes the listener. If Listener is nil, each Run creates a TCP
	// listener for the address Listen.
	Listener webhook.Listener
}

// Bot is a client for one bot account in one workspace. The methods of a Bot are safe for concurrent use, but only
// one call of Run may be active at a time.
type Bot struct {
	opts     Options
	base     string // base URL of the API, with a trailing slash
	secrets  calls.Secrets
	api      *library.Client // builds requests and sends them through roundTrip
	client   *http.Client    // the HTTP client for all requests
	clock    *calls.Clock    // tells the time of Slack's servers
	log      *slog.Logger
	self     atomic.Pointer[identity]
	command  atomic.Pointer[string] // the slash command that was used last, including the slash
	greeting receiving.Greeting
	heart    chat.Heartbeat

	screen chat.Screen // set before Run

	people       *receiving.Recent[displayName]
	teams        *receiving.Recent[string]    // maps people from other workspaces to their workspace
	lookupPace   pace                         // limits the calls of users.info
	readPace     pace                         // limits the calls of conversations.history and conversations.replies
	infoPace     pace                         // limits the calls of conversations.info
	readers      readers                      // knows the processes that share the rate limits for reading messages
	blockedUntil *receiving.Recent[time.Time] // maps a method that reads messages to the time until which Slack refuses calls
	// sentKeys maps the hash of the idempotency key of a create call to the time when the call started a stream. In
	// sentKeys, the time is zero if the call made a message or a file. Slack stores no idempotency key with a stream until
	// the stream is stopped. Until the stream is stopped, only sentKeys tells this process when the create call started
	// the stream.
	sentKeys *receiving.Recent[time.Time]

	turn   *semaphore.Weighted         // capacity 1, so that accept handles one message at a time
	recent *receiving.Recent[struct{}] // accepted messages
}

// New returns a bot. New makes no network call, so a wrong token is detected only when the bot first calls the API.
func New(o Options) *Bot {
	if o.Listener == nil {
		o.Listener = webhook.TCP(o.Listen)
	}
	client := calls.NewClient(o.HTTP, idleConnections)
	b := &Bot{
		opts:         o,
		base:         calls.Base(o.APIBase, defaultAPIBase) + "/",
		secrets:      calls.Secrets{o.BotToken}.With(o.AppToken).With(o.SigningSecret),
		client:       client,
		clock:        calls.NewClock(client),
		log:          cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		people:       receiving.NewRecent[displayName](maxPeople),
		teams:        receiving.NewRecent[string](maxPeople),
		blockedUntil: receiving.NewRecent[time.Time](readMethods),
		sentKeys:     receiving.NewRecent[time.Time](maxSentKeys),
		turn:         semaphore.NewWeighted(1),
		recent:       receiving.NewRecent[struct{}](maxRecent),
	}
	b.api = library.New(o.BotToken, library.OptionAppLevelToken(o.AppToken),
		library.OptionAPIURL(b.base), library.OptionHTTPClient(calls.Doer(b.roundTrip)))
	return b
}

// Screen implements gateway.Screener.
func (b *Bot) Screen(s chat.Screen) { b.screen = s }

// Close closes idle connections. After Close, calls of the API open new connections.
func (b *Bot) Close() { b.client.CloseIdleConnections() }

// Capabilities implements gateway.Platform.
func (b *Bot) Capabilities() chat.Capabilities {
	return chat.Capabilities{
		Edit: true, Delete: true, Typing: true, File: true, Stream: true, Find: true, Fetch: true, Buttons: true,
		Thread: true, Pane: true,
	}
}

// Dialect returns the dialect, which is the same in all chats.
func (b *Bot) Dialect(chat.Target) markup.Dialect { return Dialect{} }
