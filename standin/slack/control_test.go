package slack_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/slack"
)

// control sends a POST to the control API, or a GET if there is no body.
func (c *client) control(method, name, body string) (int, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, "http://standin/control/"+name, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r := c.do(req)
	return r.Status, r.Raw
}

func TestControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{})
		k := c.socket()
		var told struct{ Channel, TS string }
		status, raw := c.control("POST", "say", `{"channel":"C1","user":"U7","text":"hello","files":[{"name":"a.txt","content":"aGk="}]}`)
		if err := json.Unmarshal([]byte(raw), &told); err != nil || status != 200 || told.Channel != "C1" || told.TS == "" {
			t.Fatalf("say: got %d %s", status, raw)
		}
		k.take()
		post := `[{"type":"actions","elements":[{"type":"button","action_id":"go","text":{"type":"plain_text","text":"Go"}}]}]`
		own := c.ok("chat.postMessage", args{"channel": "C1", "text": "x", "blocks": post}).TS
		k.take()
		files := c.server.History("C1")[0].Files
		steps := []struct {
			method, name, body string
			status             int
			want               string
		}{
			{"GET", "info", "", 200, `"bot_user":"U0STANDIN"`},
			{"GET", "channels", "", 200, `"id":"C1"`},
			{"GET", "history?channel=C1", "", 200, `"shown":"hello"`},
			{"GET", "view?channel=C1", "", 200, `"text":"Go"`},
			{"GET", "view?channel=C1&at=0", "", 200, `"messages":[]`},
			{"GET", "view?channel=C1&at=x", "", 400, "RFC 3339"},
			{"GET", "file?id=" + files[0].ID, "", 200, "hi"},
			{"GET", "file?id=F404", "", 400, "no such file"},
			{"GET", "stats", "", 200, `"violations":{`},
			{"GET", "calls?last=1", "", 200, `"method":"chat.postMessage"`},
			{"GET", "deliveries?last=1", "", 200, `"kind":"event"`},
			{"GET", "paused", "", 200, "[]"},
			{"GET", "paused?wait=x", "", 400, "seconds expected"},
			{"POST", "user", `{"id":"U7","name":"ann"}`, 200, ""},
			{"POST", "user", `{}`, 400, "id is missing"},
			{"POST", "channel", `{"id":"G9","kind":"private"}`, 200, ""},
			{"POST", "say", `{"text":""}`, 400, "text is empty"},
			{"POST", "say", `{"words":"x"}`, 400, "unknown field"},
			{"POST", "press", `{"channel":"C1","ts":"` + own + `","button":"go"}`, 200, `{"id":1}`},
			{"POST", "press", `{"channel":"C1","ts":"` + own + `","button":"stay"}`, 400, "no such button"},
			{"POST", "command", `{"channel":"C1","command":"/ask","text":"x"}`, 200, `{"id":2}`},
			{"GET", "commands", "", 200, `"command":"/ask"`},
			{"POST", "assistant", `{"user":"U7"}`, 200, "thread_ts"},
			{"POST", "edit", `{"channel":"C1","ts":"` + told.TS + `","text":"y"}`, 200, ""},
			{"POST", "edit", `{"channel":"C1","ts":"` + own + `","text":"y"}`, 400, "no such message"},
			{"POST", "delete", `{"channel":"C1","ts":"` + own + `"}`, 200, ""},
			{"POST", "delete", `{"channel":"C1","ts":"` + own + `"}`, 400, "no such message"},
			{"POST", "archive", `{"channel":"C1"}`, 200, ""},
			{"POST", "command", `{"channel":"C1","command":"/ask"}`, 400, "no commands"},
			{"POST", "archive", `{"channel":"C1","off":true}`, 200, ""},
			{"POST", "remove_bot", `{"channel":"C1"}`, 200, ""},
			{"POST", "add_bot", `{"channel":"C1"}`, 200, ""},
			{"POST", "limits", `{"off":true}`, 200, ""},
			{"POST", "fault", `{"method":"auth.test","action":"error","error":"internal_error"}`, 200, `{"id":1}`},
			{"POST", "fault", `{"action":"fly"}`, 400, "unknown fault action"},
			{"DELETE", "fault", "", 200, ""},
			{"DELETE", "say", "", 404, "no such control"},
			{"GET", "nothing", "", 404, "no such control"},
			{"POST", "nothing", "", 404, "no such control"},
			{"PUT", "say", "", 404, "no such control"},
			{"POST", "resume", `{}`, 200, `{"resumed":0}`},
			{"POST", "stall_sockets", "", 200, `{"sockets":1}`},
			{"POST", "cut_sockets", "", 200, `{"sockets":1}`},
			{"POST", "disconnect", `{"reason":"refresh_requested","grace_ms":10}`, 200, ""},
			{"POST", "request_url", `{"url":":"}`, 400, "verify request URL"},
			{"POST", "request_url", `{}`, 200, ""},
			{"POST", "outage", `{"kind":"cut"}`, 400, "it must last some time"},
			{"POST", "outage", `{"kind":"cut","for_ms":1000}`, 200, ""},
			{"POST", "revoke", `{"off":true}`, 200, ""},
			{"POST", "restart", `{"down_ms":10}`, 200, `{"down_ms":10}`},
			{"POST", "reset", ``, 200, ""},
		}
		for _, step := range steps {
			if status, raw := c.control(step.method, step.name, step.body); status != step.status || !strings.Contains(raw, step.want) {
				t.Errorf("%s %s %s: got %d %.300s, want %d with %q", step.method, step.name, step.body, status, raw, step.status, step.want)
			}
		}
	})
}

// TestControlEvents follows the events over HTTP, as a program in any language can.
func TestControlEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://standin/control/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		synctest.Wait()
		c.server.Say(slack.Incoming{Text: "hello"})
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var e slack.Event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatal(err)
			}
			if e.Kind == "message" {
				if e.Message.Shown() != "hello" || e.Channel != direct {
					t.Errorf("got %+v", e)
				}
				return
			}
		}
		t.Error("the message did not come")
	})
}

func TestControlHeldCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		if status, raw := c.control("POST", "fault", `{"method":"auth.test","action":"pause_before"}`); status != 200 {
			t.Fatalf("fault: got %d %s", status, raw)
		}
		got := make(chan reply, 1)
		go func() {
			pause(time.Second)
			got <- c.call("auth.test", nil)
		}()
		if _, raw := c.control("GET", "paused?wait=30", ""); !strings.Contains(raw, `"stage":"before"`) {
			t.Errorf("paused: got %s", raw)
		}
		if _, raw := c.control("POST", "resume", `{}`); raw != `{"resumed":1}` {
			t.Errorf("resume: got %s", raw)
		}
		if r := <-got; !r.OK {
			t.Errorf("resumed: got %+v", r)
		}
	})
}

func TestControlOrigin(t *testing.T) {
	t.Parallel()
	c := free(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://standin/control/reset", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "http://elsewhere.example")
	if r := c.do(req); r.Status != http.StatusForbidden {
		t.Errorf("from another origin: got %d, want 403", r.Status)
	}
	u := url.URL{Scheme: "http", Host: "standin", Path: "/nothing"}
	res, err := c.http.Get(u.String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusNotFound {
		t.Errorf("elsewhere: got %d (%v), want 404", res.StatusCode, err)
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
}
