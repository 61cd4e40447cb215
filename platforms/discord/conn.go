package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/coder/websocket"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// These constants are opcodes of Discord's gateway.
// https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-opcodes
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatACK   = 11
)

const (
	// intents are the kinds of events that the bot requests. None of the requested intents is privileged. Even without a
	// privileged intent, Discord sends the text of DMs and of messages that mention the bot.
	// https://docs.discord.com/developers/events/gateway#gateway-intents
	intents = int(discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages)
	// contentIntent is the privileged intent, with which Discord sends the text of all messages.
	// https://docs.discord.com/developers/events/gateway#message-content-intent
	contentIntent = int(discordgo.IntentMessageContent)

	// helloTimeout limits the time to connect and receive Hello.
	helloTimeout = 15 * time.Second
	// readyTimeout limits the wait for the event Ready or Resumed. Without readyTimeout, the bot could wait forever,
	// because Discord's gateway may acknowledge heartbeats but send neither Ready nor Resumed.
	readyTimeout = 30 * time.Second
	// writeTimeout limits the time to write one payload.
	writeTimeout = 10 * time.Second
	// maxPayload is the maximum size of a payload in bytes. The payload for a large guild may be a few megabytes long.
	maxPayload = 64 << 20
	// maxQueuedEvents is how many events may wait before the connection stops reading.
	maxQueuedEvents = 1024
)

// These errors are reasons why a connection ended. After each of these errors, a new connection can continue the
// session.
var (
	errReconnect   = errors.New("the platform asks to reconnect")
	errNotAnswered = errors.New("heartbeats are no longer acknowledged")
	errNoSession   = errors.New("the server neither starts a session nor refuses it")
)

// connError is the error with which a connection to Discord's gateway ended. After a connError, the bot may open
// another connection.
type connError struct {
	reason         error
	receivedEvents bool // the connection received events
	resumeRefused  bool // the server refused to resume the session
	sessionOver    bool // the session no longer exists
}

func (l *connError) Error() string { return "gateway: " + l.reason.Error() }

func (l *connError) Unwrap() error { return l.reason }

// conn is one connection to Discord's gateway. One goroutine reads from the connection and another goroutine sends
// heartbeats, until one goroutine fails or the method close is called.
type conn struct {
	ws       *websocket.Conn
	log      *slog.Logger
	interval time.Duration
	events   chan *discordgo.Event // closed after the last event; after that, the field err says why the connection ended
	onEvent  func(*discordgo.Event)
	err      error
	seq      atomic.Int64 // sequence number of the last event
	acked    atomic.Bool  // the last heartbeat was acknowledged
	cancel   context.CancelCauseFunc
	workers  sync.WaitGroup
}

// open connects to Discord's gateway and waits for Hello. As soon as the connection has read an event, the connection
// calls the function onEvent, and then queues the event in conn.events.
func (b *Bot) open(ctx context.Context, address string, onEvent func(*discordgo.Event)) (*conn, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "wss" && (u.Scheme != "ws" || !strings.HasPrefix(b.api, "http:")) {
		return nil, errors.New("invalid gateway URL") // the condition also refuses URLs without TLS
	}
	u.RawQuery = "v=10&encoding=json"
	opening, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	ws, resp, err := websocket.Dial(opening, u.String(), &websocket.DialOptions{ //nolint:bodyclose // Dial closes the body.
		HTTPClient: b.client, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		if resp != nil {
			return nil, fmt.Errorf("handshake: HTTP %d", resp.StatusCode)
		}
		return nil, b.secrets.Error("connect", err)
	}
	ws.SetReadLimit(maxPayload)
	interval, err := hello(opening, ws)
	if err != nil {
		_ = ws.CloseNow()
		return nil, fmt.Errorf("no hello: %w", err)
	}
	l := &conn{ws: ws, log: b.log, interval: interval, events: make(chan *discordgo.Event, maxQueuedEvents), onEvent: onEvent}
	l.acked.Store(true)
	running, stop := context.WithCancelCause(ctx)
	l.cancel = stop
	l.workers.Go(func() {
		defer close(l.events)
		l.err = l.read(running)
		stop(l.err)
	})
	l.workers.Go(func() { stop(l.heartbeats(running)) })
	return l, nil
}

// The function hello reads the first payload from Discord's gateway, which contains the heartbeat interval.
func hello(ctx context.Context, ws *websocket.Conn) (time.Duration, error) {
	_, data, err := ws.Read(ctx)
	if err != nil {
		return 0, err
	}
	var f struct {
		Op   int `json:"op"`
		Data struct {
			Interval int64 `json:"heartbeat_interval"` // milliseconds
		} `json:"d"`
	}
	if err := json.Unmarshal(data, &f); err != nil || f.Op != opHello || f.Data.Interval <= 0 {
		return 0, errors.New("the first payload is not Hello")
	}
	return min(time.Duration(f.Data.Interval)*time.Millisecond, time.Hour), nil
}

// close ends the connection without a WebSocket close frame, because Discord would end the session after a close
// frame.
// https://docs.discord.com/developers/events/gateway#disconnecting
func (l *conn) close() {
	l.cancel(context.Canceled)
	_ = l.ws.CloseNow()
	l.workers.Wait()
}

// send writes one payload.
func (l *conn) send(ctx context.Context, op int, data any) error {
	payload, _ := json.Marshal(map[string]any{"op": op, "d": data}) // can't fail: data contains only numbers and strings
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return l.ws.Write(ctx, websocket.MessageText, payload)
}

// read reads events and queues them until the connection ends, and returns the reason why the connection ended.
func (l *conn) read(ctx context.Context) error {
	for {
		_, data, err := l.ws.Read(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		}
		f := new(discordgo.Event)
		if err := json.Unmarshal(data, f); err != nil {
			l.log.WarnContext(ctx, "event skipped", slog.Any("error", errors.New("malformed JSON")))
			continue
		}
		if f.Sequence > l.seq.Load() {
			l.seq.Store(f.Sequence)
		}
		switch f.Operation {
		case opDispatch:
			l.onEvent(f)
			select {
			case l.events <- f:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		case opHeartbeat:
			if err := l.heartbeat(ctx); err != nil {
				return err
			}
		case opHeartbeatACK:
			l.acked.Store(true)
		case opReconnect:
			return errReconnect
		case opInvalidSession:
			resumable := string(f.RawData) == "true"
			return &connError{reason: errors.New("the session is invalid"), resumeRefused: true, sessionOver: !resumable}
		}
	}
}

// heartbeats sends heartbeats until the sending of a heartbeat fails, or Discord does not acknowledge a heartbeat. If
// Discord has not acknowledged the last heartbeat, the connection is dead, even if it is still open.
// https://docs.discord.com/developers/events/gateway#sending-heartbeats
func (l *conn) heartbeats(ctx context.Context) error {
	pause := time.Duration(rand.Float64() * float64(l.interval))
	for receiving.Sleep(ctx, pause) == nil {
		if !l.acked.Swap(false) {
			return errNotAnswered
		}
		if err := l.heartbeat(ctx); err != nil {
			return err
		}
		pause = l.interval
	}
	return context.Cause(ctx)
}

// heartbeat sends one heartbeat.
func (l *conn) heartbeat(ctx context.Context) error {
	var seq any
	if n := l.seq.Load(); n > 0 {
		seq = n
	}
	return l.send(ctx, opHeartbeat, seq)
}

// identify starts a session. If content is true, the session has the privileged intent.
func (l *conn) identify(ctx context.Context, token string, content bool) error {
	wanted := intents
	if content {
		wanted |= contentIntent
	}
	return l.send(ctx, opIdentify, map[string]any{
		"token": token, "intents": wanted,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "telex", "device": "telex"},
	})
}

// resume continues a session.
func (l *conn) resume(ctx context.Context, token string, c cursor) error {
	l.seq.Store(c.seq)
	return l.send(ctx, opResume, map[string]any{"token": token, "session_id": c.session, "seq": c.seq})
}

// refusedPause is the pause after Discord has refused the bot for a reason that only the operator can fix. Each
// attempt to connect starts a session, and Discord revokes the token of a bot that starts more than 1,000 sessions
// per day.
// https://docs.discord.com/developers/events/gateway#session-start-limit
const refusedPause = 10 * time.Minute

// closeError converts the error with which a connection ended to an error for the caller of Run, or to a *connError
// after which Run may connect again. The kind of error depends on the connection's close code. The parameter up says
// that the connection has received events.
// https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes
func closeError(err error, up bool) error {
	if l, ok := errors.AsType[*connError](err); ok {
		l.receivedEvents = up
		return l
	}
	mend := func(what string) error {
		return &chat.SendError{Kind: chat.Rejected, RetryAfter: refusedPause, Err: fmt.Errorf("the gateway refuses this bot: %s", what)}
	}
	l := &connError{reason: err, receivedEvents: up}
	switch code := websocket.CloseStatus(err); code {
	case 4004:
		return &chat.SendError{Kind: chat.Auth, Err: errors.New("the gateway refuses the token: reset it in the Developer Portal, page Bot")}
	case 4010, 4011:
		return mend("it is in so many guilds that Discord demands shards, which are not supported: remove it from some")
	case 4012:
		return mend("its version of the protocol is no longer served: update telex")
	case 4013:
		return mend("its intents are invalid: update telex")
	case 4014:
		return mend("it requests an intent that is not enabled for it: in the Developer Portal, open the application's page Bot " +
			"and switch on Message Content Intent below Privileged Gateway Intents, or set message_content to false")
	case 4003, 4007, 4009:
		l.sessionOver = true
	}
	return l
}
