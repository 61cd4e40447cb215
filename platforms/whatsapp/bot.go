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
	// defaultAPIBase is where the Graph API is.
	defaultAPIBase = "https://graph.facebook.com"
	// apiVersion is the version of the Graph API that this package was written for. Meta keeps a version for two years at least.
	// https://developers.facebook.com/docs/graph-api/guides/versioning
	apiVersion = "v26.0"
)

// Options says which phone number to be and how to reach WhatsApp. The configuration has checked them.
type Options struct {
	AccessToken   string            // of a system user, with whatsapp_business_messaging
	PhoneNumberID string            // Meta's id of the number, not the number
	AppSecret     string            // what Meta signs webhooks with
	VerifyToken   string            // by which Meta checks the address of the webhook
	Listen        string            // host:port where webhooks arrive, most often from a proxy that speaks TLS
	APIBase       string            // where the Graph API is, without a version; empty: Meta's own
	HTTP          http.RoundTripper // nil: a transport of the bot's own
	Log           *slog.Logger      // nil: nothing is logged

	// Listener makes what Run listens on; nil: a TCP listener at Listen.
	Listener webhook.Listener
}

// Bot is one phone number. Its methods may be called at the same time from many goroutines, but only one Run may be active.
type Bot struct {
	opts     Options
	base     string // of the Graph API, with its version
	secrets  calls.Secrets
	client   *http.Client
	log      *slog.Logger
	name     atomic.Pointer[string] // what people call the bot
	greeting receiving.Greeting
	heart    chat.Heartbeat
	failed   atomic.Int64 // messages that WhatsApp took and could not deliver

	turn   *semaphore.Weighted            // of one: messages are accepted one at a time
	recent *receiving.Recent[struct{}]    // messages that were accepted
	newest *receiving.Recent[string]      // the id of the newest message, by chat
	texts  *receiving.Recent[*chat.Quote] // messages of both sides, by keyOf: replies have only the id
}

const (
	// maxRecent is how many messages are remembered as accepted. Meta repeats webhooks that it got no answer to for up to seven
	// days. The gateway's store knows all of them; this spares it most.
	maxRecent = 4096
	// maxChats is how many chats can have a typing indicator.
	maxChats = 4096
	// maxTexts is how many messages are remembered for the replies to them, and maxQuoted how much of each, in bytes: 4 MB.
	maxTexts  = 500
	maxQuoted = 8 << 10
	// idleConnections is how many connections to Meta are kept for the next calls.
	idleConnections = 8
)

// New returns a bot. It makes no network call: a wrong token shows in the first one.
func New(o Options) *Bot {
	if o.Listener == nil {
		o.Listener = webhook.TCP(o.Listen)
	}
	return &Bot{
		opts:    o,
		base:    calls.Base(o.APIBase, defaultAPIBase) + "/" + apiVersion + "/",
		secrets: calls.Secrets{o.AccessToken}.With(o.AppSecret).With(o.VerifyToken),
		client:  calls.NewClient(o.HTTP, idleConnections),
		log:     cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		turn:    semaphore.NewWeighted(1),
		recent:  receiving.NewRecent[struct{}](maxRecent),
		newest:  receiving.NewRecent[string](maxChats),
		texts:   receiving.NewRecent[*chat.Quote](maxTexts),
	}
}

// rememberText remembers a message for the replies to it.
func (b *Bot) rememberText(in chat.ChatID, id chat.MessageID, q chat.Quote) {
	q.Text = clip(q.Text, maxQuoted)
	b.texts.Put(textKey(in, id), &q)
}

// textKey is what a message is remembered by.
func textKey(in chat.ChatID, id chat.MessageID) string { return string(in) + " " + string(id) }

// Close lets go of the connections that no call uses. Calls may follow; they open new ones.
func (b *Bot) Close() { b.client.CloseIdleConnections() }

// Capabilities implements gateway.Platform. There are no edits and no deletions.
func (b *Bot) Capabilities() chat.Capabilities {
	return chat.Capabilities{Typing: true, File: true, Fetch: true, Buttons: true}
}

// Dialect returns how text is written, the same everywhere.
func (b *Bot) Dialect(chat.Target) markup.Dialect { return Dialect{} }

// Name implements gateway.Named by the verified name of the number; empty before the first Run.
func (b *Bot) Name() string {
	if name := b.name.Load(); name != nil {
		return *name
	}
	return ""
}
