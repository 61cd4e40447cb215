package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"telex/standin/fault"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// adminToken is the token that these tests send to the admin address.
const adminToken = "0123456789abcdef-admin"

// adminDaemon starts a daemon with an admin address and returns the address.
func (w *world) adminDaemon(settings string, s sections) (string, *process) {
	w.t.Helper()
	address := freeAddress(w.t)
	s.admin = fmt.Sprintf("{listen: %q, %s}", address, settings)
	return "http://" + address, w.daemon(s)
}

// fetch returns the response to a GET request. The request contains the token, unless token is empty.
func fetch(t *testing.T, url, token string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// scrape returns all values of /metrics. The keys of the returned map are the names of the metrics with their labels.
func scrape(t *testing.T, base, token string) map[string]float64 {
	t.Helper()
	status, text := fetch(t, base+"/metrics", token)
	if status != http.StatusOK {
		t.Fatalf("metrics: %d %s", status, text)
	}
	is := make(map[string]float64)
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if i := strings.LastIndexByte(lines.Text(), ' '); i > 0 && !strings.HasPrefix(lines.Text(), "#") {
			is[lines.Text()[:i]], _ = strconv.ParseFloat(lines.Text()[i+1:], 64)
		}
	}
	return is
}

// The test compares the daemon's metrics with the counts of the stand-ins. In the test, the bot's calls for the second
// question run into a rate limit.
func TestFiguresAgreeWithTheStandins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	base, p := w.adminDaemon(fmt.Sprintf("token: %q", adminToken), sections{})
	w.ask(answerInWords)
	p.awaitLog("turn ended", 1)
	w.telegram.Fault(telegram.Fault{Method: "editMessageText", Nth: 1, Action: fault.RateLimit, RetryAfter: 1})
	w.ask(answerInWords)
	p.awaitLog("turn ended", 2)
	if err := w.model.Rule(openai.Rule{Do: "status=401", Times: 1}); err != nil {
		t.Fatal(err)
	}
	w.ask("This fails")
	p.awaitLog("turn failed", 1)
	is := scrape(t, base, adminToken)
	for until := time.Now().Add(patience); is["telex_conversations_active"] > 0 && time.Now().Before(until); {
		is = scrape(t, base, adminToken) // the daemon logs the end of a turn before it has stored everything about the turn
	}
	var sends, edits, refused, requests, completion float64
	for _, c := range w.telegram.Calls() {
		if c.Status == http.StatusTooManyRequests {
			refused++
		}
		switch c.Method {
		case "sendMessage":
			sends++
		case "editMessageText":
			edits++
		}
	}
	for _, r := range w.model.Requests() {
		requests++
		completion += float64(r.Tokens)
	}
	sum := func(prefix string) (n float64) {
		for name, value := range is {
			if strings.HasPrefix(name, prefix) {
				n += value
			}
		}
		return n
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"sends", sum(`telex_platform_calls_total{endpoint="telegram",op="send"`), sends},
		{"edits", sum(`telex_platform_calls_total{endpoint="telegram",op="edit"`), edits},
		{"429s", sum(`telex_platform_rate_limited_total`), refused},
		{"requests", sum(`telex_model_calls_total`), requests},
		{"completion tokens", is[`telex_tokens_total{kind="completion",model="main"}`], completion},
		{"turns", sum("telex_turns_total"), 3},
		{"done turns", is[`telex_turns_total{reason="done"}`], 2},
		{"failed turns", is[`telex_turns_total{reason="error"}`], 1},
		{"finals", is[`telex_final_seconds_count{endpoint="telegram"}`], 3},
		{"up", is[`telex_endpoint_up{endpoint="telegram"}`], 1},
		{"running", is["telex_turns_running"], 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if sends == 0 || edits == 0 || refused != 1 || is[`telex_tokens_total{kind="prompt",model="main"}`] == 0 || is[`telex_model_deltas_total{model="main"}`] == 0 || is[`telex_store_seconds_count{kind="accept"}`] < 3 {
		t.Errorf("nothing was compared: %v sends, %v edits, %v 429s in %v", sends, edits, refused, is)
	}
	for name := range is {
		if strings.Contains(name, strconv.Itoa(ada)) {
			t.Errorf("a label names a person: %s", name)
		}
	}
	_, text := fetch(t, base+"/metrics", adminToken)
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Error(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "telex_") { // the other metrics come from Prometheus' own library
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// The test kills a daemon during a reply. In the next daemon, this reply must count as recovered, and its tokens must
// be counted only once.
func TestRecoveredRepliesAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 60})
	base, p := w.adminDaemon(fmt.Sprintf("token: %q", adminToken), sections{})
	w.ask(answerInWords)
	w.awaitGrowth(1)
	if is := scrape(t, base, adminToken); is[`telex_conversations_active`] != 1 || is[`telex_turns_running`] != 1 || is[`telex_replies_recovered_total{endpoint="telegram"}`] != 0 {
		t.Errorf("while the answer grows: %v active, %v running, %v recovered", is[`telex_conversations_active`], is[`telex_turns_running`], is[`telex_replies_recovered_total{endpoint="telegram"}`])
	}
	p.signal(syscall.SIGKILL)
	<-p.ended
	p = p.again()
	p.awaitLog("turn ended", 1)
	is := scrape(t, base, adminToken)
	for until := time.Now().Add(patience); is["telex_conversations_active"] > 0 && time.Now().Before(until); {
		is = scrape(t, base, adminToken)
	}
	for name, want := range map[string]float64{
		`telex_replies_recovered_total{endpoint="telegram"}`: 1, `telex_turns_total{reason="done"}`: 1, `telex_final_seconds_count{endpoint="telegram"}`: 1,
		`telex_tokens_total{kind="completion",model="main"}`: float64(w.model.Requests()[1].Tokens),
	} {
		if is[name] != want {
			t.Errorf("%s is %v, want %v", name, is[name], want)
		}
	}
	w.wantTexts(ada, openai.Answer(answerInWords))
}

// The daemon must serve /healthz and /readyz without a token, and /metrics only with the token. Without the token, /readyz
// must not name the endpoints. The log must not contain the token.
func TestProbesOfADaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	base, p := w.adminDaemon(fmt.Sprintf("token: %q", adminToken), sections{})
	if status, body := fetch(t, base+"/healthz", ""); status != http.StatusOK || body != "ok\n" {
		t.Errorf("healthz: %d %s", status, body)
	}
	var told struct {
		Status    string
		Endpoints []struct{ Name, State string }
	}
	status, body := fetch(t, base+"/readyz", adminToken)
	if err := json.Unmarshal([]byte(body), &told); err != nil || status != http.StatusOK || told.Status != "ready" ||
		len(told.Endpoints) != 1 || told.Endpoints[0].Name != "telegram" {
		t.Errorf("readyz: %d %s (%v)", status, body, err)
	}
	if status, body := fetch(t, base+"/readyz", ""); status != http.StatusOK || strings.Contains(body, "telegram") {
		t.Errorf("readyz without the token: %d %s", status, body)
	}
	if status, body := fetch(t, base+"/metrics", ""); status != http.StatusUnauthorized || strings.Contains(body, "telex_") {
		t.Errorf("metrics without the token: %d %s", status, body)
	}
	p.stop()
	for _, e := range p.log() {
		if strings.Contains(fmt.Sprint(e), adminToken) {
			t.Errorf("the log tells the token: %v", e)
		}
	}
}

// The status page shows that an answer grows. The page shows the text of the answer only if the configuration allows
// the page to show it.
func TestStatusPageOfADaemon(t *testing.T) {
	t.Parallel()
	for _, showText := range []bool{false, true} {
		w := newWorld(t, telegram.Options{}, openai.Options{Rate: 40})
		base, _ := w.adminDaemon(fmt.Sprintf("show_text: %t", showText), sections{})
		w.ask(answerInWords)
		answer := openai.Answer(answerInWords)[:20]
		grown, text := false, ""
		for until := time.Now().Add(patience); !grown && time.Now().Before(until); {
			_, text = fetch(t, base+"/", "")
			grown = strings.Contains(text, "telegram:1001") && strings.Contains(text, "visible so far") && strings.Contains(text, answer) == showText
		}
		if !grown || strings.Contains(text, "<pre") != showText || strings.Contains(text, testToken) || strings.Contains(text, testKey) {
			t.Errorf("show_text: %t, answer %q: the page is\n%s", showText, answer, text)
		}
	}
}

// If a platform refuses an endpoint's credentials permanently, the daemon must report that it is not ready, and must
// keep running.
func TestNotReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	address := freeAddress(t)
	base := "http://" + address
	p := launch{}.start(t, "run", "--config", w.config(sections{
		admin:     fmt.Sprintf("{listen: %q}", address),
		platforms: fmt.Sprintf("{telegram: {token: %q, api_base: %q}}", "1:wrong", w.telegramURL),
	}))
	p.awaitLog("endpoint stopped", 1)
	if status, body := fetch(t, base+"/readyz", ""); status != http.StatusServiceUnavailable || !strings.Contains(body, `"state":"stopped"`) || strings.Contains(body, "1:wrong") {
		t.Errorf("readyz: %d %s", status, body)
	}
	if status, body := fetch(t, base+"/healthz", ""); status != http.StatusOK {
		t.Errorf("healthz: %d %s", status, body)
	}
}

// If the configuration names an admin address that is in use, the daemon does not start. If the default admin address
// is in use, the daemon starts without an admin address.
func TestTakenAdminAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	taken := listen(t)
	defer func() { _ = taken.Close() }()
	p := launch{}.start(t, "run", "--config", w.config(sections{admin: fmt.Sprintf("{listen: %q}", taken.Addr())}))
	if code := p.exit(patience); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if !strings.Contains(p.stderr.String(), "admin.listen: ") {
		t.Errorf("the error does not name the key: %s", p.stderr.String())
	}
	// If Listen fails, another program already uses the default admin address.
	if other, err := net.Listen("tcp", "127.0.0.1:8643"); err == nil {
		defer func() { _ = other.Close() }()
	}
	p = w.daemon(sections{admin: "{}"})
	if len(p.logged("no health checks, metrics and status page")) != 1 {
		t.Error("no warning")
	}
}
