package homeassistant_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/platforms/homeassistant"
	"telex/standin/memnet"
)

const (
	token = "the-token-of-the-house"
	door  = "binary_sensor.door"
)

// house is a server that implements a part of Home Assistant's API, for tests of the connection. A house can misbehave
// in ways in which the stand-in does not.
type house struct {
	t        *testing.T
	net      *memnet.Listener
	log      conformance.Log
	refuse   bool // the house refuses every token
	answer   func(path string) (status int, body string)
	mu       sync.Mutex
	sockets  []*websocket.Conn // opened sockets, oldest first
	commands []string          // received commands, such as "auth" or "subscribe_events of state_changed"
	posted   []string          // calls of the REST API: method, path and body
	stuck    bool              // no request gets a response any more
	subs     map[int]bool      // current subscriptions
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, subs: map[int]bool{}, answer: func(string) (int, string) { return http.StatusOK, "[]" }}
	h.net = memnet.Serve(t, &server{Server: http.Server{Handler: h, ReadHeaderTimeout: time.Minute}, house: h})
	return h
}

// server is an HTTP server whose Close also closes the WebSocket connections, because Close of net/http does not.
type server struct {
	http.Server
	house *house
}

// Close closes all connections of the server, including WebSocket connections.
func (s *server) Close() error {
	s.house.mu.Lock()
	defer s.house.mu.Unlock()
	for _, ws := range s.house.sockets {
		_ = ws.CloseNow() // ignore the error, because the connection may be closed already
	}
	return s.Server.Close()
}

func (h *house) bot(o homeassistant.Options) *homeassistant.Bot {
	h.t.Helper()
	o.URL, o.Token = "http://house.test:8123", token
	o.HTTP = &http.Transport{DialContext: h.net.Dial}
	o.Log = slog.New(slog.NewTextHandler(&h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b := homeassistant.New(o)
	h.t.Cleanup(func() {
		b.Close()
		if strings.Contains(h.log.String(), token) {
			h.t.Errorf("the log contains the token: %s", h.log.String())
		}
	})
	return b
}

func (h *house) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/websocket" {
		h.serve(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Header.Get("Authorization") != "Bearer "+token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	h.mu.Lock()
	h.posted = append(h.posted, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, body))
	h.mu.Unlock()
	status, text := h.answer(r.URL.Path)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// serve serves one connection of the WebSocket API.
func (h *house) serve(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer ws.CloseNow() //nolint:errcheck // when serve returns, nobody needs the connection any more
	h.mu.Lock()
	h.sockets = append(h.sockets, ws)
	h.mu.Unlock()
	ctx := context.WithoutCancel(r.Context())
	send := func(text string) { _ = ws.Write(ctx, websocket.MessageText, []byte(text)) }
	send(`{"type":"auth_required","ha_version":"2026.8.1"}`)
	for {
		_, data, err := ws.Read(ctx)
		if err != nil {
			return
		}
		var c struct {
			ID           int    `json:"id"`
			Type         string `json:"type"`
			EventType    string `json:"event_type"`
			AccessToken  string `json:"access_token"`
			Subscription int    `json:"subscription"`
		}
		if err := json.Unmarshal(data, &c); err != nil {
			h.t.Errorf("command %q: %v", data, err)
		}
		h.mu.Lock()
		h.commands = append(h.commands, strings.TrimSpace(c.Type+" "+c.EventType))
		stuck := h.stuck
		switch c.Type {
		case "subscribe_events":
			h.subs[c.ID] = true
		case "unsubscribe_events":
			delete(h.subs, c.Subscription)
		}
		h.mu.Unlock()
		switch {
		case stuck:
		case c.Type == "auth" && (h.refuse || c.AccessToken != token):
			send(`{"type":"auth_invalid","message":"Invalid access token or password"}`)
			return
		case c.Type == "auth":
			send(`{"type":"auth_ok","ha_version":"2026.8.1"}`)
		case c.Type == "ping":
			send(fmt.Sprintf(`{"id":%d,"type":"pong"}`, c.ID))
		default:
			send(fmt.Sprintf(`{"id":%d,"type":"result","success":true,"result":null}`, c.ID))
		}
	}
}

// set sets the field stuck, which says whether the house has stopped responding.
func (h *house) set(stuck bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stuck = stuck
}

// say sends the given text as a frame over the newest connection.
func (h *house) say(text string) {
	h.t.Helper()
	h.mu.Lock()
	ws := h.sockets[len(h.sockets)-1]
	h.mu.Unlock()
	if err := ws.Write(h.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		h.t.Errorf("say: %v", err)
	}
}

// The method change reports that the state of an entity changed.
func (h *house) change(entity, from, to string) {
	h.t.Helper()
	h.say(changed(entity, from, to, ""))
}

func changed(entity, from, to, name string) string {
	state := func(value string) string {
		return fmt.Sprintf(`{"entity_id":%q,"state":%q,"attributes":{"friendly_name":%q,"device_class":"door"}}`, entity, value, name)
	}
	return fmt.Sprintf(`{"id":1,"type":"event","event":{"event_type":"state_changed","data":{"entity_id":%q,"old_state":%s,"new_state":%s}}}`,
		entity, state(from), state(to))
}

func (h *house) count(command string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(h.commands), func(c string) bool { return c != command }))
}

// running is a call of Run in a separate goroutine, together with the messages that the call has accepted.
type running struct {
	bot      *homeassistant.Bot
	cancel   context.CancelFunc
	done     chan error
	mu       sync.Mutex
	accepted []chat.Inbound
	refuse   error // the error that the function accept returns; nil: accept succeeds
}

func start(t *testing.T, b *homeassistant.Bot) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{bot: b, cancel: cancel, done: make(chan error, 1)}
	go func() {
		r.done <- b.Run(ctx, chat.Resume{}, func(_ context.Context, in chat.Inbound) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.accepted = append(r.accepted, in)
			return r.refuse
		})
	}()
	t.Cleanup(func() { cancel() })
	wait(time.Second)
	return r
}

// The method texts waits for the given time, and then returns the texts of the messages that were accepted since the
// previous call of texts.
func (r *running) texts(after time.Duration) []string {
	wait(after)
	r.mu.Lock()
	defer r.mu.Unlock()
	var texts []string
	for _, in := range r.accepted {
		texts = append(texts, in.Text)
	}
	r.accepted = nil
	return texts
}

// answer tells the bot that the answer to the message id is complete.
func (r *running) answer(id chat.MessageID) {
	r.bot.Concluded(chat.Target{Chat: homeassistant.Chat}, []chat.MessageID{id}, false)
}

func wait(d time.Duration) {
	time.Sleep(d) // in virtual time
	synctest.Wait()
}
