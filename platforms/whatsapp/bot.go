package whatsapp

import (
	"cmp"
	"log/slog"
	"net/http"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/internal/calls"
	"telex/platforms/internal/receiving"
	"telex/platforms/internal/webhook"
)

const (
	// defaultAPIBase is the base URL of the Graph API.
	defaultAPIBase = "https://graph.facebook.com"
	// apiVersion is the version of the Graph API that this package uses. Meta supports a version for at least two
	// years. https://developers.facebook.com/docs/graph-api/guides/versioning
	apiVersion = "v26.0"
)

// Options contains the credentials of one phone number, and the addresses of WhatsApp and of the webhook. Package
// internal/config has already validated the options.
type Options struct {
	AccessToken   string            // token of a system user, with the permission whatsapp_business_messaging
	PhoneNumberID string            // the id that Meta gives to the phone number, not the phone number itself
	AppSecret     string            // the key with which Meta signs webhooks
	VerifyToken   string            // the secret that Meta sends when it verifies the webhook's URL
	Listen        string            // host:port on which webhooks arrive, usually from a TLS proxy
	APIBase       string            // base URL of the Graph API without a version; empty: Meta's own URL
	HTTP          http.RoundTripper // nil: the bot creates its own transport
	Log           *slog.Logger      // nil: nothing is logged

	// Listener creates a listener for each Run. If Listener is nil, each Run creates a TCP listener for the address
	// Listen.
	Listener webhook.Listener
}

// Bot sends and receives the messages of one phone number. The methods of Bot are safe for concurrent use, but only one
// call of Run may be active at a time.
type Bot struct {
	opts     Options
	base     string // base URL of the Graph API, with the version and a trailing slash
	secrets  calls.Secrets
	client   *http.Client
	clock    *calls.Clock // tells the time of Meta's servers
	log      *slog.Logger
	name     atomic.Pointer[string] // the verified name of the number
	greeting receiving.Greeting
	heart    chat.Heartbeat
	failed   atomic.Int64 // number of sent messages that WhatsApp accepted but could not deliver

	turn   *semaphore.Weighted            // capacity 1, so that accept handles one message at a time
	recent *receiving.Recent[struct{}]    // accepted messages
	newest *receiving.Recent[string]      // maps each chat to the id of the newest message in the chat
	texts  *receiving.Recent[*chat.Quote] // messages that the bot quotes if a person replies to them; textKey returns the keys
}

const (
	// maxRecent limits how many accepted messages the bot remembers. Meta repeats a webhook for up to seven days if the
	// bot has not answered it. The bot recognizes most repeated messages itself, and the gateway's store recognizes the
	// remaining ones.
	maxRecent = 4096
	// maxChats limits the chats whose newest message the bot remembers. To show a typing indicator, the bot needs the
	// id of the newest message.
	maxChats = 4096
	// maxTexts limits how many messages the bot remembers, so that it can quote a message to which a person replies.
	// maxQuoted limits the size of each remembered text in bytes. All remembered texts together use at most 4 MB.
	maxTexts  = 500
	maxQuoted = 8 << 10
	// idleConnections is the maximum number of idle connections to Meta.
	idleConnections = 8
)

// New returns a bot. New makes no network call, so a wrong token is detected only when the bot first calls the API.
func New(o Options) *Bot {
	if o.Listener == nil {
		o.Listener = webhook.TCP(o.Listen)
	}
	client := calls.NewClient(o.HTTP, idleConnections)
	return &Bot{
		opts:    o,
		base:    calls.Base(o.APIBase, defaultAPIBase) + "/" + apiVersion + "/",
		secrets: calls.Secrets{o.AccessToken}.With(o.AppSecret).With(o.VerifyToken),
		client:  client,
		clock:   calls.NewClock(client),
		log:     cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		turn:    semaphore.NewWeighted(1),
		recent:  receiving.NewRecent[struct{}](maxRecent),
		newest:  receiving.NewRecent[string](maxChats),
		texts:   receiving.NewRecent[*chat.Quote](maxTexts),
	}
}

// rememberText keeps a message in memory, so that the bot can quote the message if a person replies to it.
func (b *Bot) rememberText(in chat.ChatID, id chat.MessageID, q chat.Quote) {
	q.Text = clip(q.Text, maxQuoted)
	b.texts.Put(textKey(in, id), &q)
}

// textKey returns the key of a message in Bot.texts.
func textKey(in chat.ChatID, id chat.MessageID) string { return string(in) + " " + string(id) }

// Close closes idle connections. The bot stays usable, because each later call opens a new connection if necessary.
func (b *Bot) Close() { b.client.CloseIdleConnections() }

// Capabilities implements gateway.Platform. The capabilities contain neither Edit nor Delete, because WhatsApp's Cloud
// API can neither edit nor delete messages.
func (b *Bot) Capabilities() chat.Capabilities {
	return chat.Capabilities{Typing: true, File: true, Fetch: true, Buttons: true}
}

// Dialect returns the dialect, which is the same in all chats.
func (b *Bot) Dialect(chat.Target) markup.Dialect { return Dialect{} }

// Name implements gateway.Named. Name returns the verified name of the phone number, or "" until Meta has reported the
// name.
func (b *Bot) Name() string {
	if name := b.name.Load(); name != nil {
		return *name
	}
	return ""
}
