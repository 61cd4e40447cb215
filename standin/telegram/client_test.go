package telegram_test

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

	"telex/standin/memnet"
	"telex/standin/telegram"
)

// client is a bot that speaks to a stand-in over an in-memory network.
type client struct {
	t      *testing.T
	server *telegram.Server
	http   *http.Client
}

// start serves a stand-in until the test ends. start also works inside a synctest bubble.
func start(t *testing.T, opts telegram.Options) *client {
	t.Helper()
	s := telegram.New(opts)
	return &client{t: t, server: s, http: &http.Client{Transport: memnet.Serve(t, s).Transport(t)}}
}

// reply is a response of the API, or the error of the connection.
type reply struct {
	Status      int
	Header      http.Header
	Raw         string
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter      int   `json:"retry_after"`
		MigrateToChatID int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
	Err error
}

// message returns the id of the message in the result.
func (r reply) message(t *testing.T) int {
	t.Helper()
	var m struct {
		MessageID int `json:"message_id"`
	}
	if !r.OK {
		t.Fatalf("answer: got %s, want ok", r.Raw)
	}
	if err := json.Unmarshal(r.Result, &m); err != nil {
		t.Fatal(err)
	}
	return m.MessageID
}

type args map[string]string

// call posts a form to a method.
func (c *client) call(method string, a args) reply {
	c.t.Helper()
	return c.callContext(c.t.Context(), method, a)
}

func (c *client) callContext(ctx context.Context, method string, a args) reply {
	c.t.Helper()
	form := url.Values{}
	for k, v := range a {
		form.Set(k, v)
	}
	return c.post(ctx, "/bot"+c.server.Token()+"/"+method, "application/x-www-form-urlencoded", form.Encode())
}

func (c *client) post(ctx context.Context, path, contentType, body string) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://standin"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
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

// update has the fields of an update that tests use.
type update struct {
	UpdateID int `json:"update_id"`
	Message  *struct {
		MessageID int               `json:"message_id"`
		Text      string            `json:"text"`
		Entities  []telegram.Entity `json:"entities"`
	} `json:"message"`
}

func (r reply) updates(t *testing.T) []update {
	t.Helper()
	var list []update
	if !r.OK {
		t.Fatalf("answer: got %s, want ok", r.Raw)
	}
	if err := json.Unmarshal(r.Result, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

const person = 1001

func pause(d time.Duration) { time.Sleep(d) } // for use in synctest bubbles only, where time is virtual
