package slack_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"telex/standin/memnet"
	"telex/standin/slack"
)

// client is an app that speaks to a stand-in over an in-memory network.
type client struct {
	t      *testing.T
	server *slack.Server
	http   *http.Client
}

// start serves a stand-in until the test ends. start also works inside a synctest bubble.
func start(t *testing.T, opts slack.Options) *client {
	t.Helper()
	s := slack.New(opts)
	return &client{t: t, server: s, http: &http.Client{Transport: memnet.Serve(t, s).Transport(t)}}
}

// free starts a stand-in without limits.
func free(t *testing.T) *client {
	t.Helper()
	return start(t, slack.Options{Limits: slack.NoLimits()})
}

// reply is a response of the API, or the error of the connection.
type reply struct {
	Status   int
	Header   http.Header
	Raw      string
	OK       bool   `json:"ok"`
	Error    string `json:"error"`
	Warning  string `json:"warning"`
	TS       string `json:"ts"`
	Channel  any    `json:"channel"`
	URL      string `json:"url"`
	Needed   string `json:"needed"`
	Messages []struct {
		TS         string          `json:"ts"`
		Text       string          `json:"text"`
		Subtype    string          `json:"subtype"`
		ReplyCount int             `json:"reply_count"`
		Metadata   json.RawMessage `json:"metadata"`
	} `json:"messages"`
	Message struct {
		Text string `json:"text"`
	} `json:"message"`
	HasMore bool `json:"has_more"`
	Meta    struct {
		Cursor   string   `json:"next_cursor"`
		Messages []string `json:"messages"`
	} `json:"response_metadata"`
	UploadURL string `json:"upload_url"`
	FileID    string `json:"file_id"`
	Err       error  `json:"-"`
}

type args map[string]string

// call posts a form with the bot's token.
func (c *client) call(method string, a args) reply {
	c.t.Helper()
	return c.with(c.server.BotToken(), method, a)
}

// ok makes a call that must succeed.
func (c *client) ok(method string, a args) reply {
	c.t.Helper()
	r := c.call(method, a)
	if !r.OK {
		c.t.Fatalf("%s: got %d %q (%v), want ok", method, r.Status, r.Raw, r.Err)
	}
	return r
}

func (c *client) with(token, method string, a args) reply {
	c.t.Helper()
	form := url.Values{}
	for k, v := range a {
		form.Set(k, v)
	}
	return c.post(c.t.Context(), token, "/api/"+method, "application/x-www-form-urlencoded", form.Encode())
}

func (c *client) post(ctx context.Context, token, path, contentType, body string) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://standin"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return c.do(req)
}

func (c *client) get(token, path string) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, "http://standin"+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return c.do(req)
}

func (c *client) do(req *http.Request) reply {
	c.t.Helper()
	res, err := c.http.Do(req)
	if err != nil {
		return reply{Err: err}
	}
	data, err := io.ReadAll(res.Body)
	err = errors.Join(err, res.Body.Close())
	r := reply{Status: res.StatusCode, Header: res.Header, Raw: string(data), Err: err}
	if err == nil && strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		r.Err = json.Unmarshal(data, &r)
	}
	return r
}

// envelope is a message that arrives over a socket.
type envelope struct {
	Type        string  `json:"type"`
	ID          string  `json:"envelope_id"`
	Reason      string  `json:"reason"`
	Connections int     `json:"num_connections"`
	Answerable  bool    `json:"accepts_response_payload"`
	Retry       int     `json:"retry_attempt"`
	RetryReason string  `json:"retry_reason"`
	Payload     payload `json:"payload"`
}

type payload struct {
	Type        string `json:"type"`
	EventID     string `json:"event_id"`
	Command     string `json:"command"`
	Text        string `json:"text"`
	ResponseURL string `json:"response_url"`
	Event       event  `json:"event"`
	Actions     []struct {
		ID    string `json:"action_id"`
		Value string `json:"value"`
	} `json:"actions"`
	Challenge string `json:"challenge"`
}

type event struct {
	Type        string   `json:"type"`
	Subtype     string   `json:"subtype"`
	Channel     string   `json:"channel"`
	ChannelType string   `json:"channel_type"`
	User        string   `json:"user"`
	BotID       string   `json:"bot_id"`
	Text        string   `json:"text"`
	TS          string   `json:"ts"`
	ThreadTS    string   `json:"thread_ts"`
	DeletedTS   string   `json:"deleted_ts"`
	Tab         string   `json:"tab"`
	Streams     []string `json:"streaming_message_ts"`
	Message     struct {
		TS   string `json:"ts"`
		Text string `json:"text"`
	} `json:"message"`
	Files []struct {
		Name string `json:"name"`
		URL  string `json:"url_private"`
	} `json:"files"`
	Assistant struct {
		ThreadTS string `json:"thread_ts"`
	} `json:"assistant_thread"`
}

// socket is the client's end of a connection.
type socket struct {
	t    *testing.T
	conn *websocket.Conn
}

// url requests the URL of a new socket.
func (c *client) url() string {
	c.t.Helper()
	r := c.with(c.server.AppToken(), "apps.connections.open", nil)
	if !r.OK {
		c.t.Fatalf("apps.connections.open: got %d %q (%v)", r.Status, r.Raw, r.Err)
	}
	return r.URL
}

// dial opens a socket without waiting for its hello.
func (c *client) dial(address string) (*socket, error) {
	c.t.Helper()
	conn, res, err := websocket.Dial(c.t.Context(), address, &websocket.DialOptions{HTTPClient: c.http})
	if res != nil && res.Body != nil && err != nil {
		err = errors.Join(err, res.Body.Close())
	}
	if err != nil {
		return nil, err
	}
	c.t.Cleanup(func() { _ = conn.CloseNow() }) // an error means that the test has closed the connection
	return &socket{t: c.t, conn: conn}, nil
}

// socket opens a socket and reads its hello.
func (c *client) socket() *socket {
	c.t.Helper()
	s, err := c.dial(c.url())
	if err != nil {
		c.t.Fatal(err)
	}
	if e := s.next(); e.Type != "hello" {
		c.t.Fatalf("first message: got %+v, want hello", e)
	}
	return s
}

// next returns the next message. If no message arrives within ten minutes, next returns an envelope without a type.
func (k *socket) next() envelope {
	k.t.Helper()
	return k.within(10 * time.Minute)
}

func (k *socket) within(d time.Duration) envelope {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), d)
	defer cancel()
	_, data, err := k.conn.Read(ctx)
	if err != nil {
		return envelope{Reason: err.Error()}
	}
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		k.t.Fatalf("envelope %s: %v", data, err)
	}
	return e
}

// ack acknowledges an envelope, with a payload that may be nil.
func (k *socket) ack(e envelope, answer any) {
	k.t.Helper()
	body := map[string]any{"envelope_id": e.ID}
	if answer != nil {
		body["payload"] = answer
	}
	data, err := json.Marshal(body)
	if err != nil {
		k.t.Fatal(err)
	}
	if err := k.conn.Write(k.t.Context(), websocket.MessageText, data); err != nil {
		k.t.Errorf("acknowledge: %v", err)
	}
}

// take returns the next envelope and acknowledges it.
func (k *socket) take() envelope {
	k.t.Helper()
	e := k.next()
	if e.ID == "" {
		k.t.Fatalf("got %+v, want an envelope", e)
	}
	k.ack(e, nil)
	return e
}

// shown returns a message's text as a person sees it now.
func (c *client) shown(channel, ts string) string {
	c.t.Helper()
	for _, m := range c.server.Screen(channel, time.Now()).Messages {
		if m.TS == ts {
			return m.Shown()
		}
	}
	return "(nothing)"
}

const (
	direct  = "D1001"
	channel = "C1"
)

func pause(d time.Duration) { time.Sleep(d) } // for use in synctest bubbles only, where time is virtual
