package telegram_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"telex/standin/telegram"
)

// control makes a request to the control API.
func (c *client) control(method, path, body string) (status int, answer string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, "http://standin/control/"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r := c.do(req)
	return r.Status, r.Raw
}

func TestControl(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{Limits: telegram.NoLimits()})
	steps := []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "say", `{"chat":1001,"text":"hello"}`, 200, `{"chat":1001,"message_id":1}`},
		{"POST", "say", `{"text":"default chat"}`, 200, `{"chat":1001,"message_id":2}`},
		{"POST", "say", `{"chat":1001,"text":" "}`, 400, `{"error":"text is empty"}`},
		{"POST", "say", `{"chat":1001,"txt":"x"}`, 400, `unknown field`},
		{"POST", "say", `{"chat":1001,"text":"x","edit_of":99}`, 400, `no such message`},
		{"POST", "say", `{"chat":-1001,"text":"x"}`, 200, `"message_id":3`},
		{"POST", "press", `{"chat":1001,"message_id":1,"data":"x"}`, 400, "no such button"},
		{"POST", "delete", `{"chat":1001,"message_id":1}`, 200, "{}"},
		{"POST", "delete", `{"chat":1001,"message_id":1}`, 400, "no such message"},
		{"POST", "stop_draft", `{"chat":1001,"draft_id":1}`, 400, "no such draft"},
		{"POST", "block", `{"chat":1001}`, 200, "{}"},
		{"POST", "block", `{"chat":1001,"blocked":false}`, 200, "{}"},
		{"POST", "admin", `{"chat":-1001}`, 200, "{}"},
		{"POST", "migrate", `{"chat":-1001}`, 200, `{"chat":-1000100001001}`},
		{"POST", "limits", `{"published":{"group_per_minute":3}}`, 200, "{}"},
		{"POST", "limits", `{"off":true}`, 200, "{}"},
		{"POST", "fault", `{"action":"explode"}`, 400, "unknown fault action"},
		{"POST", "fault", `{"method":"getMe","action":"status","status":200}`, 400, "not an error status"},
		{"POST", "fault", `{"method":"getMe","action":"latency","delay_ms":1}`, 200, `{"id":1}`},
		{"DELETE", "fault", "", 200, "{}"},
		{"GET", "paused", "", 200, "[]"},
		{"POST", "resume", `{}`, 200, `{"resumed":0}`},
		{"POST", "resume", `{"drop":true}`, 200, `{"resumed":0}`},
		{"POST", "outage", `{"kind":"flood","for_ms":1}`, 400, "unknown kind of outage"},
		{"POST", "outage", `{"kind":"cut"}`, 400, "must last some time"},
		{"POST", "outage", `{"kind":"5xx","status":429,"for_ms":1}`, 400, "not a 5xx"},
		{"POST", "outage", `{"kind":"5xx","for_ms":1}`, 200, "{}"},
		{"DELETE", "fault", "", 200, "{}"},
		{"POST", "fault", `{"action":"hang","for_ms":-1}`, 400, "negative number"},
		{"GET", "info", "", 200, `"username":"telex_bot"`},
		{"GET", "chats", "", 200, `"id":1001`},
		{"GET", "history?chat=1001", "", 200, `"deleted_by":"person"`},
		{"GET", "history?chat=x", "", 400, "number expected"},
		{"GET", "view?chat=1001", "", 200, `"text":"default chat"`},
		{"GET", "view?chat=1001&at=0", "", 200, `"messages":[]`},
		{"GET", "view?chat=1001&at=2020-01-01T00:00:00Z", "", 200, `"messages":[]`},
		{"GET", "view?chat=1001&at=noon", "", 400, "RFC 3339"},
		{"GET", "stats", "", 200, `"over_limit":0`},
		{"GET", "calls", "", 200, "[]"},
		{"GET", "commands", "", 200, ""},
		{"GET", "answers", "", 200, ""},
		{"GET", "nothing", "", 404, "no such control"},
		{"POST", "nothing", "{}", 404, "no such control"},
		{"PUT", "say", "{}", 404, "no such control"},
		{"POST", "deactivate", `{"chat":1001}`, 200, "{}"},
		{"POST", "restart", `{"down_ms":0}`, 200, `{"down_ms":0}`},
		{"POST", "reset", "", 200, "{}"},
		{"GET", "chats", "", 200, "[]"},
	}
	for _, s := range steps {
		status, answer := c.control(s.method, s.path, s.body)
		if status != s.status || !strings.Contains(answer, s.want) {
			t.Errorf("%s %s %s: got %d %s, want %d %s", s.method, s.path, s.body, status, answer, s.status, s.want)
		}
	}
}

func TestControlOrigin(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://standin/control/reset", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "https://evil.example")
	if r := c.do(req); r.Status != http.StatusForbidden {
		t.Errorf("foreign origin: got %d, want 403", r.Status)
	}
}

func TestControlPause(t *testing.T) {
	t.Parallel()
	c := free(t)
	c.control("POST", "fault", `{"method":"sendMessage","action":"pause_before"}`)
	done := make(chan reply, 1)
	go func() { done <- c.call("sendMessage", args{"chat_id": "1001", "text": "x"}) }()
	if _, answer := c.control("GET", "paused?wait=30", ""); !strings.Contains(answer, `"stage":"before"`) {
		t.Errorf("paused: got %s, want the call", answer)
	}
	if _, answer := c.control("POST", "resume", `{"drop":false}`); answer != `{"resumed":1}` {
		t.Errorf("resume: got %s, want 1", answer)
	}
	if r := <-done; !r.OK {
		t.Errorf("call: got %s (%v), want ok", r.Raw, r.Err)
	}
}

func TestControlEvents(t *testing.T) {
	t.Parallel()
	c := free(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://standin/control/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := res.Body.Close(); err != nil {
			t.Errorf("close the stream: %v", err)
		}
	}()
	lines := bufio.NewScanner(res.Body)
	lines.Scan() // skip the comment with which the event stream begins
	c.call("sendMessage", args{"chat_id": "1001", "text": "x <b>"})
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e telegram.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("event %s: %v", data, err)
		}
		if e.Kind != "message" || e.Message.Text() != "x <b>" {
			t.Errorf("event: got %s, want the message", data)
		}
		return
	}
	t.Errorf("stream ended: %v", lines.Err())
}

// TestPage checks that the page loads nothing from other servers, and that its script never inserts HTML markup.
func TestPage(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{})
	for path, want := range map[string]string{"/": "<!doctype html>", "/app.js": "EventSource", "/style.css": "prefers-color-scheme: dark"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://standin"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(res.Body)
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
		if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(data), want) {
			t.Errorf("%s: got %d (%v), want 200 with %q", path, res.StatusCode, err, want)
		}
		if policy := res.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
	script, err := os.ReadFile("page/app.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("} {
		if strings.Contains(string(script), bad) {
			t.Errorf("app.js uses %s", bad)
		}
	}
}
