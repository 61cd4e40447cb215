package telegram

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/internal/calls"
	"telex/platforms/internal/receiving"
)

// defaultAPIBase is the URL of Telegram's cloud server.
const defaultAPIBase = "https://api.telegram.org"

// Options says which bot to run and how to reach the API. Package internal/config has validated the options.
type Options struct {
	Token   string            // from @BotFather; required
	APIBase string            // scheme and host, optionally with a path; empty: the cloud server
	HTTP    http.RoundTripper // nil: the bot creates its own transport
	Log     *slog.Logger      // nil: nothing is logged
	Rich    Rich              // which messages the bot sends as rich messages
	Webhook Webhook           // the webhook by which the bot receives updates; without a URL, the bot polls
}

// Bot is a client for one bot account. The methods of a Bot are safe for concurrent use, but only one call of Run may
// be active at a time, because Telegram delivers updates to only one receiver.
type Bot struct {
	api      tgbotapi.BotAPI // a template: every call of the API uses a copy with a separate HTTP client
	files    string          // the beginning of the URLs of files, which contains the bot's token
	secrets  calls.Secrets
	client   *http.Client
	clock    *calls.Clock // tells the time of Telegram's servers
	log      *slog.Logger
	greeting receiving.Greeting
	heart    chat.Heartbeat
	ids      ids
	name     atomic.Pointer[string] // the bot's username; nil until the first Run

	webhookRemoved bool // the bot has deleted a webhook; only Run uses this field
	webhook        Webhook
	recent         *receiving.Recent[struct{}] // ids of updates that were accepted from the webhook

	rich            Rich
	richUnsupported atomic.Bool // the server does not support rich messages
}

// New returns a bot. New makes no network call, so a wrong token is detected only by the bot's first call of the API.
func New(o Options) *Bot {
	client := calls.NewClient(o.HTTP, maxPerSecond)
	b := &Bot{
		api:     tgbotapi.BotAPI{Token: o.Token},
		secrets: calls.Secrets{o.Token}.With(o.Webhook.Secret),
		client:  client,
		clock:   calls.NewClock(client),
		rich:    o.Rich,
		webhook: o.Webhook,
		recent:  receiving.NewRecent[struct{}](maxRecent),
		log:     cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
	}
	base := calls.Base(o.APIBase, defaultAPIBase)
	b.api.SetAPIEndpoint(strings.ReplaceAll(base, "%", "%%") + "/bot%s/%s")
	b.files = base + "/file/bot" + o.Token + "/"
	return b
}

// Close closes idle connections. Calls of the API after Close open new connections.
func (b *Bot) Close() { b.client.CloseIdleConnections() }

// Capabilities implements gateway.Platform.
func (b *Bot) Capabilities() chat.Capabilities {
	return chat.Capabilities{
		Edit: true, Delete: true, Typing: true, File: true, Draft: true, Find: true, Fetch: true, Menu: true, Buttons: true,
		OneReceiver: b.webhook.URL == "", // Telegram refuses a second poller with 409: https://core.telegram.org/bots/api#getupdates
	}
}

// Dialect returns the dialect of a chat. The dialect formats text with entities, and with blocks if rich messages are
// enabled.
func (b *Bot) Dialect(to chat.Target) markup.Dialect {
	return Dialect{Private: to.Kind == chat.Private, Rich: b.richMode()}
}
