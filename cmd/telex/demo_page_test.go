package main

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// demoAddress matches the line in which the demo prints the URL of its page.
var demoAddress = regexp.MustCompile(`Open (http://\S+) in a browser`)

// send posts a form of the demo's page.
func (r remote) send(path string, form url.Values) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusNoContent {
		r.t.Fatalf("%s %v: %s, %v", path, form, res.Status, err)
	}
}

// If the key of a real provider is set, this provider replaces the stand-in of the demo's first model. The demo's page
// can make the real provider fail, too.
func TestDemoWithARealModel(t *testing.T) {
	t.Parallel()
	const key = "sk-of-the-person"
	provider := launch{bare: true}.start(t, "standin", "openai", "--listen", "127.0.0.1:0", "--key", key)
	model := remote{t, provider.awaitAddress(openaiAddress)}
	demo := launch{env: []string{"OPENAI_API_KEY=" + key}}.start(t, "demo", "--base-url", model.url+"/v1", "--model", "real-one")
	page := remote{t, demo.awaitAddress(demoAddress)}
	chat := remote{t, page.url + "/telegram"}
	page.send("/ask", url.Values{"text": {"say: from the provider"}, "to": {"telegram"}})
	chat.awaitReplies(ada, "the answer", func(texts []string) bool { return len(texts) == 1 && texts[0] == "from the provider" })
	list := model.requests()
	if len(list) != 1 || list[0].Model != "real-one" {
		t.Errorf("the provider was asked %d times, want once for its model: %+v", len(list), list)
	}
	if text := page.get("/"); !strings.Contains(text, "real-one") || strings.Contains(text, key) {
		t.Errorf("the page does not name the model, or shows its key:\n%s", text)
	}
	page.send("/switch", url.Values{"what": {"model"}, "value": {"refuses"}})
	page.send("/ask", url.Values{"text": {"say: from the second"}, "to": {"telegram"}})
	chat.awaitReplies(ada, "the second model's answer", func(texts []string) bool { return len(texts) == 2 && texts[1] == "from the second" })
	if n := len(model.requests()); n != 1 {
		t.Errorf("the provider was asked %d times, want no more than once", n)
	}
	demo.stop()
	provider.stop()
}

// When the demo is killed, its daemon must end, too.
func TestDemoTakesTheDaemonAlong(t *testing.T) {
	t.Parallel()
	demo := launch{env: []string{"TMPDIR=" + t.TempDir()}}.start(t, "demo")
	page := remote{t, demo.awaitAddress(demoAddress)}
	found := regexp.MustCompile(`process (\d+)`).FindStringSubmatch(page.get("/"))
	if found == nil {
		t.Fatal("the page names no process")
	}
	daemon, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	demo.signal(syscall.SIGKILL)
	poll(t, "the end of the daemon", func() bool { return hasEnded(daemon) })
}

// The demo must refuse requests that the pages of other sites send.
func TestDemoRefusesOtherSites(t *testing.T) {
	t.Parallel()
	demo := launch{}.start(t, "demo")
	page := demo.awaitAddress(demoAddress)
	for name, change := range map[string]func(*http.Request){
		"another origin": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"another name":   func(r *http.Request) { r.Host = "evil.example" },
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page+"/switch", strings.NewReader("what=kill"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		change(req)
		req.Close = true
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil || res.StatusCode < 400 {
			t.Errorf("%s: %s, %v", name, res.Status, err)
		}
	}
	demo.stop()
}
