package discord_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/platforms/discord"
	"telex/standin/memnet"
)

// The tests in this file use an imitation of Discord's gateway that misbehaves in ways that the stand-in does not.

const (
	scriptedBot = "42"
	scriptedURL = "ws://discord.test/gateway"
)

// scripted is a server whose gateway sends Hello to each client. After Hello, the function play of the test determines
// what happens on each connection. A scripted server counts its connections from 1.
type scripted struct {
	t     *testing.T
	net   *memnet.Listener
	play  func(c *scriptedLink)
	log   *conformance.Log
	began chan struct{} // receives a value whenever a session has begun

	mu    sync.Mutex
	links int
	calls []string // calls of the API, except those that request the gateway's URL
}

// scriptedLink is one connection of a client to a scripted server.
type scriptedLink struct {
	of    *scripted
	ctx   context.Context //nolint:containedctx // of the connection.
	ws    *websocket.Conn
	n     int
	first int // opcode of the first payload that the client sent
	seq   int
}

// inScript runs a test in virtual time with a bot that connects to a scripted server.
func inScript(t *testing.T, play func(c *scriptedLink), run func(t *testing.T, s *scripted, bot *discord.Bot)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{t: t, net: memnet.Listen(), play: play, log: &conformance.Log{}, began: make(chan struct{}, 10)}
		server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
		served := make(chan error, 1)
		go func() { served <- server.Serve(s.net) }()
		t.Cleanup(func() { _ = server.Close(); <-served })
		bot := discord.New(discord.Options{
			Token: "a.b.c", APIBase: "http://discord.test", HTTP: &http.Transport{DialContext: s.net.Dial}, Log: slog.New(slog.NewTextHandler(s.log, nil)),
		})
		t.Cleanup(bot.Close)
		run(t, s, bot)
	})
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api/v10/users/@me":
		_, _ = fmt.Fprintf(w, `{"id":%q}`, scriptedBot)
	case "/api/v10/gateway/bot":
		_, _ = fmt.Fprintf(w, `{"url":%q,"session_start_limit":{"total":1000,"remaining":999,"reset_after":1,"max_concurrency":1}}`, scriptedURL)
	case "/gateway":
		s.serveLink(w, r)
	default:
		s.mu.Lock()
		s.calls = append(s.calls, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api/v10"))
		s.mu.Unlock()
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte(`[]`))
			return
		}
		_, _ = w.Write([]byte(`{"id":"7"}`))
	}
}

func (s *scripted) serveLink(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer ws.CloseNow() //nolint:errcheck // it is over.
	s.mu.Lock()
	s.links++
	c := &scriptedLink{of: s, ctx: r.Context(), ws: ws, n: s.links}
	s.mu.Unlock()
	c.put(10, "", map[string]any{"heartbeat_interval": 41250})
	for c.first == 0 || c.first == 1 {
		if c.first, err = c.get(); err != nil {
			return
		}
	}
	s.play(c)
}

// called returns the API calls that the bot has made so far.
func (s *scripted) called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func (c *scriptedLink) put(op int, kind string, data any) {
	v := map[string]any{"op": op, "d": data}
	if kind != "" {
		c.seq++
		v["s"], v["t"] = c.seq, kind
	}
	if payload, err := json.Marshal(v); err == nil {
		_ = c.ws.Write(c.ctx, websocket.MessageText, payload)
	}
}

// get reads the next payload from the bot and returns the payload's opcode. If the payload is a heartbeat, get
// acknowledges the heartbeat.
func (c *scriptedLink) get() (int, error) {
	_, data, err := c.ws.Read(c.ctx)
	if err != nil {
		return 0, err
	}
	var f struct{ Op int }
	if err := json.Unmarshal(data, &f); err != nil {
		return 0, err
	}
	if f.Op == 1 {
		c.put(11, "", nil)
	}
	return f.Op, nil
}

// ready sends the event Ready, which begins a session.
func (c *scriptedLink) ready(guilds ...any) {
	c.put(0, "READY", map[string]any{
		"session_id": "s", "resume_gateway_url": scriptedURL, "guilds": guilds,
		"user": map[string]any{"id": scriptedBot}, "application": map[string]any{"id": scriptedBot},
	})
	c.of.began <- struct{}{}
}

// The method last keeps the connection open and acknowledges heartbeats until the client disconnects.
func (c *scriptedLink) last() {
	for {
		if _, err := c.get(); err != nil {
			return
		}
	}
}

// supervised runs a bot as the gateway does, until the test ends. The returned channel receives the messages that the
// bot accepts.
func supervised(t *testing.T, bot *discord.Bot, from chat.Resume) <-chan chat.Inbound {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	got, done := make(chan chat.Inbound, 100), make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			err := bot.Run(ctx, from, func(_ context.Context, in chat.Inbound) error { got <- in; return nil })
			if !errors.Is(err, context.Canceled) && chat.AsSendError(err).Kind != chat.Temporary {
				t.Errorf("Run = %v, want a temporary failure", err)
			}
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
			}
		}
	}()
	return got
}

// In this test, Discord's gateway acknowledges heartbeats, but neither starts nor resumes the session. If Discord
// neither starts nor resumes the session, the bot must open another connection.
func TestGatewayIsSilent(t *testing.T) {
	for name, cursor := range map[string]string{"new": "", "taken up": "m=1&session=x&at=" + scriptedURL + "&seq=3"} {
		t.Run(name, func(t *testing.T) {
			inScript(t, func(c *scriptedLink) {
				if c.n > 1 && c.first == 2 {
					c.ready()
				}
				c.last()
			}, func(t *testing.T, s *scripted, bot *discord.Bot) {
				supervised(t, bot, chat.Resume{Cursor: cursor})
				select {
				case <-s.began:
				case <-time.After(10 * time.Minute):
					t.Error("there is no session after ten minutes")
				}
			})
		})
	}
}

// In this test, Discord closes each connection that resumes the session, but does not say that the session has ended.
// When resuming has failed repeatedly, the bot must start a new session.
func TestSessionCanNotBeTakenUp(t *testing.T) {
	for _, code := range []int{1000, 1011, 4000, 4006} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			inScript(t, func(c *scriptedLink) {
				if c.first == 6 {
					_ = c.ws.Close(websocket.StatusCode(code), "no")
					return
				}
				c.ready()
				c.last()
			}, func(t *testing.T, s *scripted, bot *discord.Bot) {
				supervised(t, bot, chat.Resume{Cursor: "m=1&session=x&at=" + scriptedURL + "&seq=3"})
				select {
				case <-s.began:
				case <-time.After(10 * time.Minute):
					t.Error("there is no session after ten minutes")
				}
			})
		})
	}
}

// In this test, Discord announces 20 guilds slowly, one guild per second. The bot must read the missed messages of all
// 20 guilds.
func TestGuildsComeSlowly(t *testing.T) {
	inScript(t, func(c *scriptedLink) {
		var guilds []any
		for i := range 20 {
			guilds = append(guilds, map[string]any{"id": strconv.Itoa(1000 + i), "unavailable": true})
		}
		c.ready(guilds...)
		for i := range 20 {
			time.Sleep(time.Second)
			c.put(0, "GUILD_CREATE", map[string]any{"id": strconv.Itoa(1000 + i), "channels": []any{
				map[string]any{"id": strconv.Itoa(2000 + i), "last_message_id": "2000000000000000000"},
			}})
		}
		c.last()
	}, func(t *testing.T, s *scripted, bot *discord.Bot) {
		supervised(t, bot, chat.Resume{Cursor: "m=1"})
		time.Sleep(2 * time.Minute)
		if got := s.called(); len(got) != 20 {
			t.Errorf("the calls are %q, want one for each of 20 channels", got)
		}
	})
}

// In this test, this machine's clock is ahead of Discord's clock, so the command's token looks expired. Although the
// token looks expired, the bot must answer through the interaction.
func TestClockIsAhead(t *testing.T) {
	inScript(t, func(c *scriptedLink) {
		c.ready()
		began := (time.Now().Add(-20*time.Minute).UnixMilli() - 1420070400000) << 22
		c.put(0, "INTERACTION_CREATE", map[string]any{
			"id": strconv.FormatInt(began, 10), "application_id": scriptedBot, "type": 2, "token": "tok", "channel_id": "9",
			"user": map[string]any{"id": "8"}, "data": map[string]any{"name": "new"},
		})
		c.last()
	}, func(t *testing.T, s *scripted, bot *discord.Bot) {
		time.Sleep(20 * 365 * 24 * time.Hour) // the virtual clock starts before Discord's epoch
		in := <-supervised(t, bot, chat.Resume{})
		send(t, bot, in.To, outgoing("one", in.ID))
		if got := s.called(); len(got) != 2 || !strings.HasPrefix(got[1], "PATCH /webhooks/42/tok/") {
			t.Errorf("the calls are %q, want that the command is acknowledged and its answer edited", got)
		}
	})
}
