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

// Options says which phone number to use and how to reach WhatsApp. The configuration has validated them.
type Options struct {
	AccessToken   string            // of a system user, with the permission whatsapp_business_messaging
	PhoneNumberID string            // Meta's id of the number, not the number
	AppSecret     string            // with which Meta signs webhooks
	VerifyToken   string            // with which Meta checks the URL of the webhook
	Listen        string            // host:port on which webhooks arrive, usually from a TLS proxy
	APIBase       string            // base URL of the Graph API without a version; empty: Meta's own
	HTTP          http.RoundTripper // nil: the bot creates its own transport
	Log           *slog.Logger      // nil: nothing is logged

	// Listener creates the listener of Run; nil: a TCP listener on Listen.
	Listener webhook.Listener
}

// Bot is one phone number. Its methods are safe for concurrent use, but only one Run may be active.
type Bot struct {
	opts     Options
	base     string // base URL of the Graph API, with the version and a trailing slash
	secrets  calls.Secrets
	client   *http.Client
	clock    *calls.Clock // Meta's
	log      *slog.Logger
	name     atomic.Pointer[string] // the verified name of the number
	greeting receiving.Greeting
	heart    chat.Heartbeat
	failed   atomic.Int64 // number of messages that WhatsApp accepted and could not deliver

	turn   *semaphore.Weighted            // capacity 1: messages are accepted one at a time
	recent *receiving.Recent[struct{}]    // accepted messages
	newest *receiving.Recent[string]      // by chat: the id of the newest message
	texts  *receiving.Recent[*chat.Quote] // by textKey: messages of both sides; a reply contains only the id of the message that it replies to
}

const (
	// maxRecent limits the remembered accepted messages. Meta repeats unanswered webhooks for up to seven days. The
	// gateway's store knows all accepted messages; this only avoids most lookups there.
	maxRecent = 4096
	// maxChats limits the chats that can have a typing indicator.
	maxChats = 4096
	// maxTexts limits the messages that are remembered for replies to them, and maxQuoted limits the bytes of each.
	// Together they use at most 4 MB.
	maxTexts  = 500
	maxQuoted = 8 << 10
	// idleConnections is how many idle connections to Meta are kept.
	idleConnections = 8
)

// New returns a bot. It makes no network call, so only the first call finds a wrong token.
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

// rememberText stores a message, so that a later reply to it can quote its text.
func (b *Bot) rememberText(in chat.ChatID, id chat.MessageID, q chat.Quote) {
	q.Text = clip(q.Text, maxQuoted)
	b.texts.Put(textKey(in, id), &q)
}

// textKey returns the key under which a message is remembered.
func textKey(in chat.ChatID, id chat.MessageID) string { return string(in) + " " + string(id) }

// Close closes idle connections. Later calls open new ones.
func (b *Bot) Close() { b.client.CloseIdleConnections() }

// Capabilities implements gateway.Platform. There are no edits and no deletions.
func (b *Bot) Capabilities() chat.Capabilities {
	return chat.Capabilities{Typing: true, File: true, Fetch: true, Buttons: true}
}

// Dialect returns the dialect, which is the same in all chats.
func (b *Bot) Dialect(chat.Target) markup.Dialect { return Dialect{} }

// Name implements gateway.Named. It returns the verified name of the number, or "" before the first Run.
func (b *Bot) Name() string {
	if name := b.name.Load(); name != nil {
		return *name
	}
	return ""
}
