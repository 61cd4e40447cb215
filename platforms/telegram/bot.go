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

// defaultAPIBase is the cloud server.
const defaultAPIBase = "https://api.telegram.org"

// Options says which bot to be and how to reach the API. The configuration has checked them.
type Options struct {
	Token   string            // from @BotFather; required
	APIBase string            // scheme and host, maybe a path; empty: the cloud server
	HTTP    http.RoundTripper // nil: a transport of the bot's own
	Log     *slog.Logger      // nil: nothing is logged
	Rich    Rich              // which messages are rich messages
	Webhook Webhook           // by which updates arrive; without a URL: by polling
}

// Bot is one bot account. Its methods may be called at the same time from many goroutines,
// but only one Run may be active: Telegram hands updates to one receiver.
type Bot struct {
	api      tgbotapi.BotAPI // a template: every call works on a copy with its own client
	files    string          // the address that the paths of files continue; it holds the token
	secrets  calls.Secrets
	client   *http.Client
	log      *slog.Logger
	greeting receiving.Greeting
	heart    chat.Heartbeat
	ids      ids
	name     atomic.Pointer[string] // of the bot; nil until the first Run

	webhookRemoved bool // for Run
	webhook        Webhook
	recent         *receiving.Recent[struct{}] // updates that were accepted from the webhook, by id

	rich     Rich
	richless atomic.Bool // the server does not know rich messages
}

// New returns a bot. It makes no network call: a wrong token shows in the first one.
func New(o Options) *Bot {
	b := &Bot{
		api:     tgbotapi.BotAPI{Token: o.Token},
		secrets: calls.Secrets{o.Token}.With(o.Webhook.Secret),
		client:  calls.NewClient(o.HTTP, endpointCount),
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

// Close lets go of the connections that no call uses. Calls may follow; they open new ones.
func (b *Bot) Close() { b.client.CloseIdleConnections() }

// Capabilities implements gateway.Platform.
func (b *Bot) Capabilities() chat.Capabilities {
	return chat.Capabilities{
		Edit: true, Delete: true, Typing: true, File: true, Draft: true, Find: true, Fetch: true, Menu: true, Buttons: true,
		OneReceiver: b.webhook.URL == "", // https://core.telegram.org/bots/api#getupdates: a second poller gets 409
	}
}

// Dialect returns how text is written, the same everywhere: by entities, and by blocks where rich messages are wanted.
func (b *Bot) Dialect(to chat.Target) markup.Dialect {
	return Dialect{Private: to.Kind == chat.Private, Rich: b.richMode()}
}
