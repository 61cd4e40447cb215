package homeassistant

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/internal/calls"
	"telex/platforms/internal/receiving"
)

// User is the sender of all messages, and Chat is the chat that contains all messages.
const (
	User chat.UserID = "homeassistant"
	Chat chat.ChatID = "events"
)

// Options says to which installation of Home Assistant the bot connects, which changes the bot reports, and where the
// bot shows answers.
type Options struct {
	URL    string // such as http://homeassistant.local:8123
	Token  string // long-lived access token
	Watch  Watch
	Notify string // a notify entity or notify action, such as "notify.mobile_app_phone"; empty: persistent notifications
	// Pause is the minimum time from the end of an answer to the next message. Pause keeps the number of messages below
	// telex's limit on turns per minute.
	Pause time.Duration
	HTTP  http.RoundTripper // nil: the bot creates its own transport
	Log   *slog.Logger      // nil: nothing is logged
}

// Bot connects telex to one installation of Home Assistant. The methods of Bot are safe for concurrent use, but only
// one call of Run may be active at a time.
type Bot struct {
	base    string // URL of the installation, without a trailing slash
	token   string
	notify  string // the configured name without "notify."; empty: persistent notifications
	pause   time.Duration
	secrets calls.Secrets
	client  *http.Client
	log     *slog.Logger

	greeting receiving.Greeting
	unread   rate.Sometimes // limits how often the log warns about unreadable frames
	heart    chat.Heartbeat
	changed  chan struct{} // capacity 1: receives a value when one of the following fields has changed

	mu          sync.Mutex
	watcher     *watcher
	undelivered *chat.Inbound  // the message that the function accept has not accepted yet; nil: there is no such message
	answering   chat.MessageID // the message that the gateway is answering; empty: no message
	nextAfter   time.Time      // when the bot may send the next message to the gateway
}

// New returns a bot. New makes no network call, so a wrong token is detected only when the bot first calls Home
// Assistant.
func New(o Options) *Bot {
	return &Bot{
		base: calls.Base(o.URL, ""), token: o.Token, notify: strings.TrimPrefix(o.Notify, domainNotify+"."), pause: o.Pause,
		secrets: calls.Secrets{}.With(o.Token), client: calls.NewClient(o.HTTP, idleConnections),
		log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), changed: make(chan struct{}, 1), watcher: newWatcher(o.Watch),
		unread: rate.Sometimes{Interval: time.Minute},
	}
}

// Close closes idle connections. The bot stays usable, because each later call opens a new connection if necessary.
func (b *Bot) Close() { b.client.CloseIdleConnections() }

// Capabilities implements gateway.Platform.
func (b *Bot) Capabilities() chat.Capabilities {
	return chat.Capabilities{Concludes: true, OneReceiver: true, ReceiverAnswers: true} // the gateway calls Concluded
}

// Dialect returns the dialect of notifications.
func (b *Bot) Dialect(chat.Target) markup.Dialect {
	if b.notify != "" {
		return Text{}
	}
	return Markdown{}
}

// Pulse implements gateway.Pulse. With each frame that arrives, Run reports that it works. Home Assistant sends at
// least one frame every pingEvery, because it answers pings. The returned limit also includes the time that Run needs
// to open a connection.
func (b *Bot) Pulse() (last time.Time, limit time.Duration) {
	return b.heart.Last(), handshakeTimeout + 2*pingEvery + time.Minute
}

// Concluded implements gateway.Concluder. The gateway calls Concluded when the answer to messages is complete. When the
// answer is complete, the bot waits for the duration Pause and may then send its next message.
func (b *Bot) Concluded(_ chat.Target, messages []chat.MessageID, _ bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range messages {
		if id == b.answering {
			b.answering, b.nextAfter = "", time.Now().Add(b.pause)
			b.signalChange()
		}
	}
}

// signalChange wakes the goroutine in sendMessages, which passes messages to the gateway.
func (b *Bot) signalChange() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// receiveError converts an error that ended Run to the error that Run returns.
func (b *Bot) receiveError(ctx context.Context, operation string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &chat.SendError{Kind: chat.Temporary, Err: b.secrets.Error(operation, err)}
}
