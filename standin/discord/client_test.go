package discord_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"telex/standin/discord"
	"telex/standin/memnet"
)

const (
	general = discord.DefaultChannel
	person  = discord.DefaultPerson
	app     = discord.DefaultBot
)

// client is a bot that speaks to a stand-in over an in-memory network.
type client struct {
	t      *testing.T
	server *discord.Server
	http   *http.Client
}

// start serves a stand-in until the test ends. start also works inside a synctest bubble.
func start(t *testing.T, opts discord.Options) *client {
	t.Helper()
	s := discord.New(opts)
	return &client{t: t, server: s, http: &http.Client{Transport: memnet.Serve(t, s).Transport(t)}}
}

// free starts a stand-in without limits. The heartbeat interval is so long that short tests send no heartbeat.
func free(t *testing.T) *client {
	t.Helper()
	return start(t, discord.Options{Limits: discord.NoLimits(), Heartbeat: time.Hour})
}

// reply is a response of the API, or the error of the connection.
type reply struct {
	Status int
	Header http.Header
	Raw    string
	Err    error
}

// into decodes the body of a response that must be a success.
func (r reply) into(t *testing.T, v any) {
	t.Helper()
	if r.Err != nil || r.Status > 299 {
		t.Fatalf("answer: got %d %s (%v), want success", r.Status, r.Raw, r.Err)
	}
	if err := json.Unmarshal([]byte(r.Raw), v); err != nil {
		t.Fatal(err)
	}
}

// id returns the id of the object in the response.
func (r reply) id(t *testing.T) string {
	t.Helper()
	var v struct {
		ID string `json:"id"`
	}
	r.into(t, &v)
	return v.ID
}

// code returns Discord's error code in the response.
func (r reply) code() int {
	var v struct {
		Code int `json:"code"`
	}
	if json.Unmarshal([]byte(r.Raw), &v) != nil {
		return -1
	}
	return v.Code
}

type object map[string]any

// call sends JSON to a path below /api/v10. With a nil body, the request has no body.
func (c *client) call(verb, path string, body any) reply {
	c.t.Helper()
	return c.callContext(c.t.Context(), verb, path, body)
}

func (c *client) callContext(ctx context.Context, verb, path string, body any) reply {
	c.t.Helper()
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			c.t.Fatal(err)
		}
	}
	return c.do(ctx, verb, "/api/v10"+path, "application/json", data)
}

func (c *client) do(ctx context.Context, verb, path, kind string, body []byte) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(ctx, verb, "http://standin"+path, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Authorization", "Bot "+c.server.Token())
	res, err := c.http.Do(req)
	if err != nil {
		return reply{Err: err}
	}
	data, err := io.ReadAll(res.Body)
	return reply{Status: res.StatusCode, Header: res.Header, Raw: string(data), Err: errors.Join(err, res.Body.Close())}
}

// send posts a message with a text.
func (c *client) send(channel, text string) reply {
	c.t.Helper()
	return c.call(http.MethodPost, "/channels/"+channel+"/messages", object{"content": text})
}

// edit changes the text of a message.
func (c *client) edit(channel, message, text string) reply {
	c.t.Helper()
	return c.call(http.MethodPatch, "/channels/"+channel+"/messages/"+message, object{"content": text})
}

// say lets a person write a message.
func (c *client) say(in discord.Incoming) string {
	c.t.Helper()
	id, err := c.server.Say(in)
	if err != nil {
		c.t.Fatal(err)
	}
	return id
}

// upload posts a message with files.
func (c *client) upload(verb, path string, payload any, files map[string]string) reply {
	c.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	data, err := json.Marshal(payload)
	if err != nil {
		c.t.Fatal(err)
	}
	err = w.WriteField("payload_json", string(data))
	n := 0
	for name, content := range files {
		part, partErr := w.CreateFormFile("files["+strconv.Itoa(n)+"]", name)
		if partErr != nil {
			c.t.Fatal(partErr)
		}
		_, writeErr := io.WriteString(part, content)
		err = errors.Join(err, writeErr)
		n++
	}
	if err := errors.Join(err, w.Close()); err != nil {
		c.t.Fatal(err)
	}
	return c.do(c.t.Context(), verb, "/api/v10"+path, w.FormDataContentType(), b.Bytes())
}

// control makes a POST request to the control API.
func (c *client) control(path, body string) reply {
	c.t.Helper()
	return c.do(c.t.Context(), http.MethodPost, "/control/"+path, "application/json", []byte(body))
}

// event is a payload that the gateway sends.
type event struct {
	Op   int             `json:"op"`
	Type string          `json:"t"`
	Seq  int64           `json:"s"`
	Data json.RawMessage `json:"d"`
}

// gateway is the client's end of a connection to the gateway.
type gateway struct {
	t    *testing.T
	conn *websocket.Conn
	seq  int64
}

// connect opens a connection. resume is the resume_gateway_url, or "".
func (c *client) connect(resume string) *gateway {
	c.t.Helper()
	conn, _, err := websocket.Dial(c.t.Context(), "ws://standin"+resume+"/?v=10&encoding=json", &websocket.DialOptions{HTTPClient: c.http}) //nolint:bodyclose // the response needs no Close
	if err != nil {
		c.t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	c.t.Cleanup(func() { _ = conn.CloseNow() })
	return &gateway{t: c.t, conn: conn}
}

// identify opens a connection and begins a session, whose id it returns.
func (c *client) identify(intents int) (*gateway, string) {
	c.t.Helper()
	g := c.connect("")
	g.expectOp(10)
	g.write(2, object{"token": c.server.Token(), "intents": intents, "properties": object{"os": "linux"}})
	ready := g.expect("READY")
	var d struct {
		Session string `json:"session_id"`
		URL     string `json:"resume_gateway_url"`
	}
	if err := json.Unmarshal(ready.Data, &d); err != nil || d.URL != "ws://standin/resume/" {
		c.t.Fatalf("READY: %s (%v)", ready.Data, err)
	}
	if intents&1 != 0 {
		g.expect("GUILD_CREATE")
	}
	return g, d.Session
}

func (g *gateway) write(op int, d any) {
	g.t.Helper()
	data, err := json.Marshal(object{"op": op, "d": d})
	if err != nil {
		g.t.Fatal(err)
	}
	if err := g.conn.Write(g.t.Context(), websocket.MessageText, data); err != nil {
		g.t.Fatal(err)
	}
}

// next reads one payload.
func (g *gateway) next() (event, error) {
	_, data, err := g.conn.Read(g.t.Context())
	if err != nil {
		return event{}, err
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return event{}, err
	}
	g.seq = max(g.seq, e.Seq)
	return e, nil
}

func (g *gateway) expectOp(op int) event {
	g.t.Helper()
	e, err := g.next()
	if err != nil || e.Op != op {
		g.t.Fatalf("gateway: got op %d %s %s (%v), want op %d", e.Op, e.Type, e.Data, err, op)
	}
	return e
}

func (g *gateway) expect(name string) event {
	g.t.Helper()
	e, err := g.next()
	if err != nil || e.Type != name {
		g.t.Fatalf("gateway: got op %d %s %s (%v), want %s", e.Op, e.Type, e.Data, err, name)
	}
	return e
}

// expectClose reads until the server closes the connection, and checks the close code.
func (g *gateway) expectClose(code int) {
	g.t.Helper()
	for {
		e, err := g.next()
		if err == nil {
			if e.Op == 0 {
				g.t.Fatalf("gateway: got %s, want close %d", e.Type, code)
			}
			continue
		}
		if got := int(websocket.CloseStatus(err)); got != code {
			g.t.Fatalf("gateway: got close %d (%v), want %d", got, err, code)
		}
		return
	}
}

// message has the fields of a message that tests use.
type message struct {
	ID          string   `json:"id"`
	Content     string   `json:"content"`
	GuildID     string   `json:"guild_id"`
	Edited      *string  `json:"edited_timestamp"`
	Flags       int      `json:"flags"`
	Type        int      `json:"type"`
	Nonce       any      `json:"nonce"`
	Mentions    []object `json:"mentions"`
	Attachments []struct {
		ID       string `json:"id"`
		Filename string `json:"filename"`
		Size     int    `json:"size"`
		URL      string `json:"url"`
	} `json:"attachments"`
	Referenced *message `json:"referenced_message"`
}

func (e event) message(t *testing.T) message {
	t.Helper()
	var m message
	if err := json.Unmarshal(e.Data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// texts returns the visible texts in a channel.
func (c *client) texts(channel string) string {
	c.t.Helper()
	var list []string
	for _, m := range c.server.View(channel, time.Now()) {
		list = append(list, m.Content())
	}
	return strings.Join(list, "|")
}

func pause(d time.Duration) { time.Sleep(d) } // for use in synctest bubbles only, where time is virtual

// newStream returns a function that takes the pieces of a zlib stream, and a decoder of the JSON in this stream.
func newStream(t *testing.T) (in func([]byte), out *json.Decoder) {
	t.Helper()
	var fed bytes.Buffer
	s := &inflater{fed: &fed}
	return func(data []byte) { fed.Write(data) }, json.NewDecoder(s)
}

// inflater opens the zlib stream at the first read, because opening the stream blocks until input arrives.
type inflater struct {
	fed  *bytes.Buffer
	zlib io.Reader
}

func (i *inflater) Read(b []byte) (int, error) {
	if i.zlib == nil {
		z, err := zlib.NewReader(i.fed)
		if err != nil {
			return 0, err
		}
		i.zlib = z
	}
	return i.zlib.Read(b)
}
