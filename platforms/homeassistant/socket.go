package homeassistant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"telex/internal/chat"
)

const (
	// maxFrame is the maximum size of a frame in bytes. The bot skips frames that are larger than maxFrame. Frames larger
	// than maxFrame occur, because an attribute may contain a picture.
	maxFrame = 1 << 20
	// handshakeTimeout limits the time from dialing to the subscription.
	handshakeTimeout = 30 * time.Second
	// writeTimeout limits the time to send a command.
	writeTimeout = 10 * time.Second
	// pingEvery is the interval of pings. If no frame arrives between two pings, the bot closes the connection.
	pingEvery = 10 * time.Second
	// If no event arrives for renewAfter, the bot renews the subscription. Home Assistant may have lost the
	// subscription although it still answers pings. https://github.com/NousResearch/hermes-agent/issues/67470
	renewAfter = 5 * time.Minute
)

var (
	errSilent  = errors.New("the connection is stuck: no answer to a ping")
	errLarge   = errors.New("the message is larger than 1 MiB")
	errRefused = errors.New("the access token was refused: create a long-lived access token on the profile page of Home Assistant")
)

// socket is an authenticated connection.
type socket struct {
	ws     *websocket.Conn
	mu     sync.Mutex // protects the ids of commands, which must increase with each command
	lastID int64

	received     atomic.Bool  // a frame has arrived since the last ping
	lastEvent    atomic.Int64 // time of the last event or of the last renewal of the subscription; Unix nanoseconds
	subscription atomic.Int64 // id of the current subscription; 0: the bot has not subscribed
}

// connect opens a WebSocket connection to Home Assistant and authenticates. If the configuration watches any entity,
// connect also subscribes to changes.
func (b *Bot) connect(ctx context.Context) (*socket, error) {
	shaking, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	ws, response, err := websocket.Dial(shaking, b.base+"/api/websocket", &websocket.DialOptions{HTTPClient: b.client}) //nolint:bodyclose // Dial's callers need not close the body.
	if err != nil {
		if response != nil { // replace the library's error, which would quote the response's headers
			err = fmt.Errorf("HTTP status %d", response.StatusCode)
		}
		return nil, b.receiveError(ctx, "connect", err)
	}
	ws.SetReadLimit(-1) // disable the library's limit, because socket.read enforces maxFrame
	s := &socket{ws: ws}
	if err := b.authenticate(shaking, s); err != nil {
		_ = ws.CloseNow() // nobody uses the connection after a failed handshake
		if errors.Is(err, errRefused) {
			return nil, &chat.SendError{Kind: chat.Auth, Err: err}
		}
		return nil, b.receiveError(ctx, "connect", err)
	}
	return s, nil
}

// authenticate performs the handshake. https://developers.home-assistant.io/docs/api/websocket#authentication-phase
func (b *Bot) authenticate(ctx context.Context, s *socket) error {
	if _, err := s.expect(ctx, typeAuthRequired); err != nil {
		return err
	}
	if err := s.write(ctx, map[string]any{"type": typeAuth, "access_token": b.token}); err != nil {
		return err
	}
	hello, err := s.expect(ctx, typeAuthOK)
	if err != nil {
		return err
	}
	if b.watcher.Any() {
		if err := s.subscribe(ctx); err != nil {
			return err
		}
		result, err := s.expect(ctx, typeResult)
		if err != nil {
			return err
		}
		if !result.Success {
			return fmt.Errorf("the subscription was refused: %s: %s", result.Error.Code, result.Error.Message)
		}
	}
	b.greeting.Log(ctx, b.log, slog.String("version", oneLine(hello.Version, maxName)), slog.Bool("watching", b.watcher.Any()))
	return nil
}

// expect reads the next frame and returns the frame. If the frame's type is not the parameter kind, expect returns an
// error.
func (s *socket) expect(ctx context.Context, kind string) (*frame, error) {
	data, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	f, err := decodeFrame(data)
	switch {
	case err != nil:
		return nil, err
	case f.Type == typeAuthInvalid:
		return nil, errRefused
	case f.Type != kind:
		return nil, fmt.Errorf("expected %s, got %q", kind, oneLine(f.Type, maxName))
	}
	return f, nil
}

// read returns the next frame. read blocks until a frame arrives, the connection is lost, or ctx ends. The error
// errLarge means that the method read skipped a frame that was too large. After the error errLarge, the caller can call
// the method read again.
func (s *socket) read(ctx context.Context) ([]byte, error) {
	_, r, err := s.ws.Reader(ctx)
	if err != nil {
		return nil, err
	}
	s.received.Store(true)
	data, err := io.ReadAll(io.LimitReader(r, maxFrame+1))
	if err != nil || len(data) <= maxFrame {
		return data, err
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, err
	}
	return nil, errLarge
}

// The method command sends a command to Home Assistant and returns the command's new id.
func (s *socket) command(ctx context.Context, command map[string]any) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	command["id"] = s.lastID
	return s.lastID, s.write(ctx, command)
}

func (s *socket) write(ctx context.Context, message map[string]any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode command: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return s.ws.Write(ctx, websocket.MessageText, data)
}

// subscribe subscribes to state changes. If the connection has an earlier subscription, subscribe first ends the
// earlier subscription, because with two subscriptions Home Assistant would send every change twice.
func (s *socket) subscribe(ctx context.Context) error {
	if earlier := s.subscription.Load(); earlier != 0 {
		if _, err := s.command(ctx, map[string]any{"type": typeUnsubscribe, "subscription": earlier}); err != nil {
			return err
		}
	}
	id, err := s.command(ctx, map[string]any{"type": typeSubscribe, "event_type": stateChanged})
	s.subscription.Store(id)
	s.lastEvent.Store(time.Now().UnixNano())
	return err
}

// keepAlive sends pings until ctx ends or Home Assistant does not answer a ping.
func (s *socket) keepAlive(ctx context.Context) error {
	ticker := time.NewTicker(pingEvery) //nolint:forbidigo // pings let the receiver notice a dead connection.
	defer ticker.Stop()
	s.received.Store(true) // the bot has sent no ping yet, so no answer can be missing
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		if !s.received.Swap(false) {
			return errSilent
		}
		if s.subscription.Load() != 0 && time.Since(time.Unix(0, s.lastEvent.Load())) >= renewAfter {
			if err := s.subscribe(ctx); err != nil {
				return err
			}
		}
		if _, err := s.command(ctx, map[string]any{"type": typePing}); err != nil {
			return err
		}
	}
}
