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

// defaultAPIBase is where the methods of the Web API are.
const defaultAPIBase = "https://slack.com/api/"

// Options says which app to be and how to reach Slack. Exactly one way of receiving is configured:
// AppToken for Socket Mode, or SigningSecret with Listen for the Events API over HTTP. The configuration has checked them.
type Options struct {
	BotToken      string            // xoxb-…, of the app's bot in the workspace; required
	AppToken      string            // xapp-…, with the scope connections:write
	SigningSecret string            // what Slack signs its requests with
	Listen        string            // host:port where Slack's requests arrive, most often from a proxy that speaks TLS
	APIBase       string            // where the methods are, up to their names; empty: Slack's own
	HTTP          http.RoundTripper // nil: a transport of the bot's own
	Log           *slog.Logger      // nil: nothing is logged

	// Listener makes what Run listens on, anew for each Run, which closes it; nil: a TCP listener at Listen.
	Listener webhook.Listener
}

// Bot is one bot account in one workspace. Its methods may be called at the same time from many
// goroutines, but only one Run may be active.
type Bot struct {
	opts     Options
	base     string // with a slash at its end
	secrets  calls.Secrets
	api      *library.Client // builds requests, and sends them by roundTrip
	client   *http.Client    // for everything
	log      *slog.Logger
	self     atomic.Pointer[identity]
	command  atomic.Pointer[string] // the slash command as it was last used, with its slash
	greeting receiving.Greeting
	heart    chat.Heartbeat

	screen chat.Screen // set before Run

	people  *receiving.Recent[displayName]
	teams   *receiving.Recent[string]    // the teams of people from other workspaces
	lookups pace                         // users.info
	reads   pace                         // conversations.history and conversations.replies of all Runs
	infos   pace                         // conversations.info
	blocked *receiving.Recent[time.Time] // until when methods that read must not be called
	// sentKeys has the time when this process began a stream, by the hash of its key; zero for other messages. Until a stream is
	// stopped, nothing else tells which create made it.
	sentKeys *receiving.Recent[time.Time]

	turn   *semaphore.Weighted         // of one: messages are accepted one at a time
	recent *receiving.Recent[struct{}] // messages that were accepted
}

// New returns a bot. It makes no network call: a wrong token shows in the first one.
func New(o Options) *Bot {
	if o.Listener == nil {
		o.Listener = webhook.TCP(o.Listen)
	}
	b := &Bot{
		opts:     o,
		base:     calls.Base(o.APIBase, defaultAPIBase) + "/",
		secrets:  calls.Secrets{o.BotToken}.With(o.AppToken).With(o.SigningSecret),
		client:   calls.NewClient(o.HTTP, idleConnections),
		log:      cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		people:   receiving.NewRecent[displayName](maxPeople),
		teams:    receiving.NewRecent[string](maxPeople),
		blocked:  receiving.NewRecent[time.Time](readMethods),
		sentKeys: receiving.NewRecent[time.Time](maxSentKeys),
		turn:     semaphore.NewWeighted(1),
		recent:   receiving.NewRecent[struct{}](maxRecent),
	}
	b.api = library.New(o.BotToken, library.OptionAppLevelToken(o.AppToken),
		library.OptionAPIURL(b.base), library.OptionHTTPClient(calls.Doer(b.roundTrip)))
	return b
}

// Screen implements gateway.Screener.
func (b *Bot) Screen(s chat.Screen) { b.screen = s }

// Close lets go of the connections that no call uses. Calls may follow; they open new ones.
func (b *Bot) Close() { b.client.CloseIdleConnections() }

// Capabilities implements gateway.Platform.
func (b *Bot) Capabilities() chat.Capabilities {
	return chat.Capabilities{
		Edit: true, Delete: true, Typing: true, File: true, Stream: true, Find: true, Fetch: true, Buttons: true,
		Thread: true, Pane: true,
	}
}

// Dialect returns how text is written, the same everywhere.
func (b *Bot) Dialect(chat.Target) markup.Dialect { return Dialect{} }
