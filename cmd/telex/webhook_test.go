package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"telex/standin/openai"
	"telex/standin/telegram"
)

const hookSecret = "webhook-secret_of-the-whole-process"

// hooked returns an endpoint's section that makes the endpoint receive by a webhook, and the address of the webhook.
func (w *world) hooked() (section, address string) {
	w.t.Helper()
	listens := freeAddress(w.t)
	address = "http://" + listens + "/telegram"
	return fmt.Sprintf("{telegram: {token: %q, api_base: %q, mode: webhook, webhook: {listen: %q, url: %q, secret: %q}}}",
		testToken, w.telegramURL, listens, address, hookSecret), address
}

// knock posts a body to a webhook, as anybody on the internet can, and returns the status of the response.
func knock(t *testing.T, address, secret, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode
}

// In TestTelegramWebhook, a daemon receives updates by a webhook. The daemon must answer messages that waited for its
// start, messages that arrive while it runs, and messages that arrived after it was killed. The daemon must refuse
// forged updates and answer repeated updates once. When the daemon stops, it must delete the webhook, so that the next
// daemon can poll.
func TestTelegramWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{GrowingIDs: true, Limits: telegram.NoLimits()}, openai.Options{Rate: 2000})
	section, address := w.hooked()
	ask := func(text string) {
		w.ask("say: " + text)
		w.await("the answer "+text, func() bool { return slices.Contains(w.texts(ada), text) })
	}
	w.ask("say: before")
	d := w.daemon(sections{platforms: section})
	w.await("the answer to what waited", func() bool { return slices.Contains(w.texts(ada), "before") })
	ask("one")
	forged := `{"update_id":1,"message":{"message_id":4000,"date":4102444800,"chat":{"id":1001,"type":"private"},"from":{"id":1001,"first_name":"Ada"},"text":"say: %s"}}`
	for name, c := range map[string]struct {
		secret, body string
		want         int
	}{
		"no secret":      {"", fmt.Sprintf(forged, "forged"), 401},
		"a wrong secret": {hookSecret + "x", fmt.Sprintf(forged, "forged"), 401},
		"no update":      {hookSecret, "[]", 400},
	} {
		if got := knock(t, address, c.secret, c.body); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
	for range 3 {
		if got := knock(t, address, hookSecret, fmt.Sprintf(forged, "replayed")); got != 200 {
			t.Errorf("a replayed update: got %d", got)
		}
	}
	w.await("the answer to the repeated update", func() bool { return slices.Contains(w.texts(ada), "replayed") })
	ask("two")
	d.kill()
	w.ask("say: while dead")
	d = d.again()
	w.await("the answer to what came while it was dead", func() bool { return slices.Contains(w.texts(ada), "while dead") })
	d.signal(syscall.SIGTERM)
	if code := d.exit(patience); code != exitDone {
		t.Errorf("exit %d", code)
	}
	w.ask("say: while stopped")
	d = w.daemon(sections{})
	w.await("the answer by polling", func() bool { return slices.Contains(w.texts(ada), "while stopped") })
	d.stop()
	want := []string{"before", "one", "replayed", "two", "while dead", "while stopped"}
	if got := w.texts(ada); !slices.Equal(got, want) {
		t.Errorf("ada sees %q, want %q", got, want)
	}
	if st := w.telegram.Stats(); st.Pending != 0 || st.Conflicts != 0 {
		t.Errorf("%d updates wait, %d conflicts", st.Pending, st.Conflicts)
	}
}
