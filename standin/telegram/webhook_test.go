package telegram_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/fault"
	"telex/standin/memnet"
	"telex/standin/telegram"
)

// hooked is a bot that receives updates through a webhook.
type hooked struct {
	mu      sync.Mutex
	got     []string // chat and text of each update, in order of arrival
	at      []time.Time
	secrets []string
	answer  func(text string, nth int) int // returns the status for an update's text; nth is the number of earlier attempts
	header  http.Header
	slow    time.Duration
	most    int // the maximum number of concurrent requests
	now     int
}

func (h *hooked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var u struct {
		Message struct {
			Text string `json:"text"`
			Chat struct {
				ID int64 `json:"id"`
			} `json:"chat"`
		} `json:"message"`
	}
	_ = json.Unmarshal(body, &u)
	h.mu.Lock()
	h.now++
	h.most = max(h.most, h.now)
	nth := len(h.got)
	h.got = append(h.got, fmt.Sprintf("%d %s", u.Message.Chat.ID, u.Message.Text))
	h.at = append(h.at, time.Now())
	h.secrets = append(h.secrets, r.Header.Get("X-Telegram-Bot-Api-Secret-Token"))
	h.mu.Unlock()
	pause(h.slow)
	status := 200
	if h.answer != nil {
		status = h.answer(u.Message.Text, nth)
	}
	maps.Copy(w.Header(), h.header)
	w.WriteHeader(status)
	h.mu.Lock()
	h.now--
	h.mu.Unlock()
}

// webhook serves a bot's webhook over an in-memory network, and a stand-in that delivers updates to this webhook.
func webhook(t *testing.T, h *hooked) *client {
	t.Helper()
	l := memnet.Listen()
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	return start(t, telegram.Options{
		Limits: telegram.NoLimits(),
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return l.Dial(ctx, network, address)
		},
	})
}

func TestWebhookDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{slow: time.Second}
		c := webhook(t, h)
		c.server.Say(telegram.Incoming{Chat: person, Text: "before"})
		if r := c.call("setWebhook", args{"url": "http://localhost/x", "secret_token": "s-1", "max_connections": "2"}); !r.OK {
			t.Fatal(r.Raw)
		}
		for i := range 3 {
			c.server.Say(telegram.Incoming{Chat: person, Text: fmt.Sprint(i)})
			c.server.Say(telegram.Incoming{Chat: 1002, User: 1002, Text: fmt.Sprint(i)})
			c.server.Say(telegram.Incoming{Chat: 1003, User: 1003, Text: fmt.Sprint(i)})
		}
		pause(time.Minute)
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, chat := range []string{"1001 ", "1002 ", "1003 "} {
			var texts []string
			for _, got := range h.got {
				if text, ok := strings.CutPrefix(got, chat); ok {
					texts = append(texts, text)
				}
			}
			want := []string{"0", "1", "2"}
			if chat == "1001 " {
				want = append([]string{"before"}, want...)
			}
			if !slices.Equal(texts, want) {
				t.Errorf("chat %sgot %q", chat, texts)
			}
		}
		if len(h.got) != 10 || h.most != 2 || slices.ContainsFunc(h.secrets, func(s string) bool { return s != "s-1" }) {
			t.Errorf("%d updates, %d at once, secrets %q", len(h.got), h.most, h.secrets)
		}
		if st := c.server.Stats(); st.Pending != 0 || len(c.server.Deliveries()) != 10 {
			t.Errorf("%d wait, deliveries %+v", st.Pending, c.server.Deliveries())
		}
	})
}

// The webhook refuses an update seven times. The test checks that the server repeats the delivery after growing waits,
// and that during these waits only the updates of the same chat wait.
func TestWebhookRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{answer: func(text string, nth int) int {
			if text == "bad" && nth < 7 {
				return 503
			}
			return 200
		}}
		c := webhook(t, h)
		c.call("setWebhook", args{"url": "http://localhost/x"})
		began := time.Now()
		c.server.Say(telegram.Incoming{Chat: person, Text: "bad"})
		c.server.Say(telegram.Incoming{Chat: person, Text: "next"})
		pause(100 * time.Millisecond)
		info := c.call("getWebhookInfo", nil)
		if !strings.Contains(info.Raw, `"pending_update_count":2`) || !strings.Contains(info.Raw, "Wrong response from the webhook: 503 Service Unavailable") {
			t.Errorf("info: %s", info.Raw)
		}
		c.server.Say(telegram.Incoming{Chat: 1002, User: 1002, Text: "other"})
		pause(5 * time.Minute)
		h.mu.Lock()
		defer h.mu.Unlock()
		if got := strings.Join(h.got, ","); got != "1001 bad,1002 other"+strings.Repeat(",1001 bad", 6)+",1001 next" {
			t.Errorf("got %s", got)
		}
		if first, last := h.at[2].Sub(began), h.at[7].Sub(h.at[6]); first.Round(100*time.Millisecond) != time.Second || last.Round(time.Second) != 32*time.Second {
			t.Errorf("it came again after %v and %v", first, last)
		}
	})
}

func TestWebhookRetryAfterAndLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{answer: func(_ string, nth int) int { return max(200, map[int]int{0: 429}[nth]) }, header: http.Header{"Retry-After": {"30"}}}
		c := webhook(t, h)
		c.server.Fault(telegram.Fault{Method: "webhook", Nth: 2, Times: 1, Action: fault.CutAfter})
		c.call("setWebhook", args{"url": "http://localhost/x"})
		c.server.Say(telegram.Incoming{Chat: person, Text: "x"})
		pause(time.Minute)
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.got) != 3 || h.at[1].Sub(h.at[0]).Round(time.Second) != 30*time.Second || h.at[2].Sub(h.at[1]).Round(time.Second) != 2*time.Second {
			t.Errorf("got %q at %v", h.got, h.at)
		}
	})
}

// The webhook can't be reached. The test checks that the update stays in the queue, and that getUpdates returns the
// update after deleteWebhook.
func TestWebhookGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, telegram.Options{})
		c.call("setWebhook", args{"url": "https://a.org:8443/hook"})
		c.server.Say(telegram.Incoming{Chat: person, Text: "x"})
		pause(time.Minute)
		if info := c.call("getWebhookInfo", nil); !strings.Contains(info.Raw, "Connection refused") {
			t.Errorf("info: %s", info.Raw)
		}
		c.call("deleteWebhook", nil)
		if got := c.call("getUpdates", nil).updates(t); len(got) != 1 {
			t.Errorf("got %+v", got)
		}
		if info := c.call("getWebhookInfo", nil); !strings.Contains(info.Raw, `"url":""`) {
			t.Errorf("info: %s", info.Raw)
		}
	})
}

func TestWebhookAddresses(t *testing.T) {
	t.Parallel()
	c := free(t)
	for address, want := range map[string]string{
		"http://a.org": "An HTTPS URL must be provided", "https://a.org:8444": "only on ports 80, 88, 443 or 8443", "nothing": "invalid webhook URL",
		"https://a.org:88/x?y=z": "", "http://127.0.0.1:1234/x": "", "http://localhost": "",
	} {
		if r := c.call("setWebhook", args{"url": address}); r.OK != (want == "") || !strings.Contains(r.Description, want) {
			t.Errorf("%s: got %s", address, r.Raw)
		}
	}
	if r := c.call("setWebhook", args{"url": "https://a.org", "secret_token": "a b"}); r.OK {
		t.Errorf("a bad secret: got %s", r.Raw)
	}
}
