package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// busy returns a status with a value for every field that the page shows.
func busy() Status {
	now := time.Now()
	return Status{
		Version: "1.2.3", Started: now.Add(-time.Hour),
		Readiness: Readiness{Status: "failing", Store: "the database is away"},
		Endpoints: []EndpointStatus{
			{
				Endpoint: Endpoint{Name: "telegram", State: "connected"}, Network: "Telegram", Waiting: 3,
				Limits: []Limit{{What: "calls per second", Used: 12, Max: 30}},
				Blocks: []Block{{What: "in the chat -100", Until: now.Add(40 * time.Second)}},
			},
			{Endpoint: Endpoint{Name: "discord", State: "stopped", Error: "auth: <b>401</b>"}},
		},
		Replicas: []Replica{
			{ID: 17, Name: "web1 pid 7", Version: "1.2.2", Chats: 1, Leaving: true},
			{ID: 18, Name: "web2 pid 8", Version: "1.2.3", Self: true, Chats: 12, Receives: []string{"discord", "telegram"}},
		},
		Replies: []Reply{
			{Conversation: "telegram:1", Turn: "deadbeef", Began: now, Length: 400, Visible: 300, Text: "said <script>alert(1)</script>", Waits: "for the rate limits of the platform", Until: now.Add(9 * time.Second)},
			{Conversation: "telegram:2", Queued: 2, Parked: 1},
		},
		Problems:      []Problem{{At: now, Failed: true, Message: "turn failed", Conversation: "telegram:1", Turn: "cafe0123", Cause: "HTTP 500"}},
		Days:          []Day{{now.AddDate(0, 0, -1), 900, 100}, {now, 3000, 1000}},
		Conversations: []Conversation{{Name: "telegram:1", Newest: now.Add(-time.Minute), Messages: 4, Tokens: 5000}},
		Kept:          7,
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	o := options()
	o.Status = func(context.Context) Status { return busy() }
	s := server(t, o)
	w := ask(t, s, "/")
	page := w.Body.String()
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("status %d, %v", w.Code, w.Header())
	}
	for _, want := range []string{
		"telex <span class=\"state failing\" role=\"status\">failing</span>", "12 of 30", "The platform refuses calls in the chat -100, ", "3 calls wait for the rate limits",
		"auth: &lt;b&gt;401&lt;/b&gt;", "deadbeef", "300 of 400 characters visible so far", "Waits for the rate limits of the platform, ",
		"said &lt;script&gt;alert(1)&lt;/script&gt;", "2 waiting messages · 1 earlier reply being delivered", "turn failed", "cafe0123", "HTTP 500",
		`height="96"`, "3000", "5k", "The newest 1 of 7", "the database is away",
		"version 1.2.2</span><span class=\"state stopping\">stopping</span>", "1 chat</p>", "version 1.2.3 · this one", "12 chats · receives discord, telegram",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("missing: %s", want)
		}
	}
	// The response's content security policy forbids inline scripts and styles, so the page must not have any.
	if found := regexp.MustCompile(`(?i)<script>|<style| style=| on[a-z]+=|https?://`).FindAllString(page, -1); len(found) > 0 {
		t.Errorf("the page holds %q", found)
	}
	for _, asset := range regexp.MustCompile(`/assets/[a-z.]+`).FindAllString(page, -1) {
		if w := ask(t, s, asset); w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("%s: %d", asset, w.Code)
		}
	}
	for _, id := range sections() {
		if n := strings.Count(page, fmt.Sprintf(" id=%q", id)); n != 1 {
			t.Errorf("%d elements have the id %s", n, id)
		}
	}
	o.Status = func(context.Context) Status { return Status{} }
	if page := ask(t, server(t, o), "/").Body.String(); !strings.Contains(page, "Nobody waits for an answer.") || strings.Contains(page, "<svg") {
		t.Errorf("an idle daemon: %s", page)
	}
}

// A program can read the data of the status page as JSON.
func TestStatusAsJSON(t *testing.T) {
	t.Parallel()
	o := options()
	want := busy()
	o.Status = func(context.Context) Status { return want }
	w := ask(t, server(t, o), "/status.json")
	var got Status
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %v: %s", w.Code, err, w.Body)
	}
	if len(got.Endpoints) != len(want.Endpoints) || got.Endpoints[0].Name != want.Endpoints[0].Name || got.Endpoints[0].Waiting != want.Endpoints[0].Waiting {
		t.Errorf("endpoints %+v, want %+v", got.Endpoints, want.Endpoints)
	}
}

// If a token is configured, a person sees only the login form until the person has sent the token.
func TestLogin(t *testing.T) {
	t.Parallel()
	o := options()
	o.Token = token
	o.Status = func(context.Context) Status { return busy() }
	s := server(t, o)
	send := func(path, value string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://telex.example"+path, strings.NewReader(url.Values{"token": {value}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, r)
		return w
	}
	for _, path := range []string{"/", "/events", "/status.json"} {
		if w := ask(t, s, path); w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "telegram") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for _, wrong := range []string{"", "wrong", strings.Repeat("x", maxForm)} {
		if w := send("/login", wrong); w.Code != http.StatusUnauthorized || len(w.Result().Cookies()) > 0 || !strings.Contains(w.Body.String(), "This is not the token.") {
			t.Errorf("%.10q: %d %s", wrong, w.Code, w.Body)
		}
	}
	w := send("/login", token)
	cookies := w.Result().Cookies()
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/" || len(cookies) != 1 {
		t.Fatalf("login: %d %v", w.Code, w.Header())
	}
	page := ask(t, s, "/", func(r *http.Request) { r.AddCookie(cookies[0]) })
	if page.Code != http.StatusOK || !strings.Contains(page.Body.String(), "Log out") || strings.Contains(page.Body.String(), token) {
		t.Errorf("after the login: %d %s", page.Code, page.Body)
	}
	if w := send("/logout", ""); w.Code != http.StatusSeeOther || w.Result().Cookies()[0].MaxAge >= 0 {
		t.Errorf("logout: %d %v", w.Code, w.Header())
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	var p Problems
	log := slog.New(p.Handler(slog.NewTextHandler(io.Discard, nil))).With(slog.String("conversation", "telegram:1")) //nolint:sloglint // slog.DiscardHandler takes no records
	log.Info("no problem")
	log.Warn("a warning", slog.String("turn", "0123456789abcdef"), slog.Any("error", fmt.Errorf("%s", strings.Repeat("x", 1000))))
	for i := range maxProblems - 1 {
		log.Error("error " + strconv.Itoa(i)) //nolint:sloglint // the messages must differ
	}
	list := p.Newest()
	last := list[len(list)-1]
	if len(list) != maxProblems || list[0].Message != fmt.Sprint("error ", maxProblems-2) || !list[0].Failed || list[0].Conversation != "telegram:1" ||
		last.Message != "a warning" || last.Failed || last.Turn != "01234567" || len(last.Cause) > maxCause+3 {
		t.Errorf("problems: %+v", list)
	}
	log.Error("one more")
	if list := p.Newest(); len(list) != maxProblems || list[0].Message != "one more" || list[len(list)-1].Message != "error 0" {
		t.Errorf("problems: %+v", list)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1k", 1049: "1k", 1234: "1.2k", 12_345: "12k", 1_000_000: "1M", 2_500_000: "2.5M", 31_000_000: "31M"} {
		if got := short(n); got != want {
			t.Errorf("short(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int]int{1: 1, 3: 5, 5: 5, 11: 20, 4999: 5000, 5001: 10_000} {
		if got := roundUp(n); got != want {
			t.Errorf("roundUp(%d) = %d, want %d", n, got, want)
		}
	}
}
