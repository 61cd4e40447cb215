package homeassistant_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"telex/standin/homeassistant"
	"telex/standin/memnet"
)

// client is a bot that speaks to a stand-in over an in-memory network.
type client struct {
	t      *testing.T
	server *homeassistant.Server
	http   *http.Client
}

// start serves a stand-in until the test ends. start also works inside a synctest bubble.
func start(t *testing.T, opts homeassistant.Options) *client {
	t.Helper()
	s := homeassistant.New(opts)
	return &client{t: t, server: s, http: &http.Client{Transport: memnet.Serve(t, s).Transport(t)}}
}

// reply is a response of the REST API, or the error of the connection.
type reply struct {
	Status int
	Header http.Header
	Raw    string
	Err    error
}

// call makes a REST call with the token. The body may be empty.
func (c *client) call(method, path, body string) reply {
	c.t.Helper()
	return c.with(c.server.Token(), method, path, body)
}

func (c *client) with(token, method, path, body string) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, "http://standin"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return reply{Err: err}
	}
	data, err := io.ReadAll(res.Body)
	return reply{Status: res.StatusCode, Header: res.Header, Raw: string(data), Err: errors.Join(err, res.Body.Close())}
}

// want checks the response of a call.
func (r reply) want(t *testing.T, what string, status int, body string) {
	t.Helper()
	if r.Err != nil || r.Status != status || r.Raw != body {
		t.Errorf("%s: got %d %q (%v), want %d %q", what, r.Status, r.Raw, r.Err, status, body)
	}
}

// envelope is a message from the server.
type envelope struct {
	ID      int64           `json:"id"`
	Type    string          `json:"type"`
	Success bool            `json:"success"`
	Result  json.RawMessage `json:"result"`
	Message string          `json:"message"`
	Version string          `json:"ha_version"`
	Error   struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Key     string `json:"translation_key"`
	} `json:"error"`
	Event struct {
		Type   string          `json:"event_type"`
		Origin string          `json:"origin"`
		Fired  time.Time       `json:"time_fired"`
		Data   json.RawMessage `json:"data"`
		Change change          `json:"-"`
		Ctx    struct {
			User string `json:"user_id"`
		} `json:"context"`
	} `json:"event"`

	err error // error of the connection
}

// change is the data of a state_changed event.
type change struct {
	Entity string `json:"entity_id"`
	Old    *state `json:"old_state"`
	New    *state `json:"new_state"`
}

type state struct {
	Entity     string         `json:"entity_id"`
	State      string         `json:"state"`
	Attributes map[string]any `json:"attributes"`
	Changed    time.Time      `json:"last_changed"`
	Updated    time.Time      `json:"last_updated"`
}

// socket is the client's end of a connection.
type socket struct {
	t      *testing.T
	conn   *websocket.Conn
	last   int
	queue  []envelope // the messages of the last frame that the test has not read yet
	frames int
}

func (c *client) dial() *socket {
	c.t.Helper()
	conn, res, err := websocket.Dial(c.t.Context(), "ws://standin/api/websocket", &websocket.DialOptions{HTTPClient: c.http})
	if err != nil {
		if res != nil && res.Body != nil {
			err = errors.Join(err, res.Body.Close())
		}
		c.t.Fatal(err)
	}
	conn.SetReadLimit(1 << 24)
	c.t.Cleanup(func() { _ = conn.CloseNow() }) // an error means that the test has closed the connection
	return &socket{t: c.t, conn: conn}
}

// socket opens a socket and authenticates.
func (c *client) socket() *socket {
	c.t.Helper()
	k := c.dial()
	if e := k.next(); e.Type != "auth_required" || e.Version == "" {
		c.t.Fatalf("first message: got %+v, want auth_required", e)
	}
	k.write(`{"type":"auth","access_token":"` + c.server.Token() + `"}`)
	if e := k.next(); e.Type != "auth_ok" || e.Version == "" {
		c.t.Fatalf("got %+v, want auth_ok", e)
	}
	return k
}

func (k *socket) write(frame string) {
	k.t.Helper()
	if err := k.conn.Write(k.t.Context(), websocket.MessageText, []byte(frame)); err != nil {
		k.t.Errorf("write %s: %v", frame, err)
	}
}

// next returns the next message. If no message arrives within ten minutes, next returns an envelope with an error.
func (k *socket) next() envelope {
	k.t.Helper()
	return k.within(10 * time.Minute)
}

func (k *socket) within(d time.Duration) envelope {
	k.t.Helper()
	if len(k.queue) == 0 {
		ctx, cancel := context.WithTimeout(k.t.Context(), d)
		defer cancel()
		_, data, err := k.conn.Read(ctx)
		if err != nil {
			return envelope{err: err}
		}
		k.frames++
		list := []json.RawMessage{data}
		if strings.HasPrefix(string(data), "[") {
			if err := json.Unmarshal(data, &list); err != nil {
				k.t.Fatalf("frame %s: %v", data, err)
			}
		}
		for _, one := range list {
			var e envelope
			if err := json.Unmarshal(one, &e); err != nil {
				return envelope{err: err}
			}
			if e.Event.Type == "state_changed" {
				if err := json.Unmarshal(e.Event.Data, &e.Event.Change); err != nil {
					k.t.Fatalf("event %s: %v", e.Event.Data, err)
				}
			}
			k.queue = append(k.queue, e)
		}
	}
	e := k.queue[0]
	k.queue = k.queue[1:]
	return e
}

// send sends a command with the next id. fields is the JSON after the type, such as `,"x":1`.
func (k *socket) send(kind, fields string) int {
	k.t.Helper()
	k.last++
	data, err := json.Marshal(k.last)
	if err != nil {
		k.t.Fatal(err)
	}
	k.write(`{"id":` + string(data) + `,"type":"` + kind + `"` + fields + `}`)
	return k.last
}

// ask sends a command and returns the next message, which must have the command's id.
func (k *socket) ask(kind, fields string) envelope {
	k.t.Helper()
	id := k.send(kind, fields)
	e := k.next()
	if e.err == nil && e.ID != int64(id) {
		k.t.Errorf("%s: got %+v, want the answer to %d", kind, e, id)
	}
	return e
}

// ok sends a command that must succeed.
func (k *socket) ok(kind, fields string) envelope {
	k.t.Helper()
	e := k.ask(kind, fields)
	if e.Type != "result" || !e.Success {
		k.t.Fatalf("%s%s: got %+v, want success", kind, fields, e)
	}
	return e
}

// shown returns the texts that the panel shows now.
func (c *client) shown() string {
	var list []string
	for _, n := range c.server.Screen(time.Now()).In(homeassistant.Panel) {
		list = append(list, n.Text())
	}
	return strings.Join(list, "|")
}

// violations fails the test unless the violations are those in want.
func (c *client) violations(want ...string) {
	c.t.Helper()
	var got []string
	for _, v := range c.server.Stats().Violations.Details {
		got = append(got, v.Kind)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		c.t.Errorf("violations: got %v, want %v: %+v", got, want, c.server.Stats().Violations.Details)
	}
}

func pause(d time.Duration) { time.Sleep(d) } // for use in synctest bubbles only, where time is virtual
