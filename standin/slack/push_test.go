package slack_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/memnet"
	"telex/standin/slack"
)

// pushed is a request that the app received.
type pushed struct {
	at     time.Duration // time since the app was started
	header http.Header
	raw    []byte
	form   url.Values // only for commands and button presses
	payload
}

// app is an HTTP server at the bot's request URL.
type app struct {
	t      *testing.T
	mu     sync.Mutex
	got    []pushed
	answer func(n int, p pushed, w http.ResponseWriter) // n is the number of the request, from 0
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		a.t.Errorf("read: %v", err)
	}
	p := pushed{header: r.Header, raw: body}
	if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		if p.form, err = url.ParseQuery(string(body)); err != nil {
			a.t.Errorf("form: %v", err)
		}
		body = []byte(p.form.Get("payload"))
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &p.payload); err != nil {
			a.t.Errorf("payload: %v", err)
		}
	}
	a.mu.Lock()
	n := len(a.got)
	p.at = time.Duration(time.Now().UnixNano())
	a.got = append(a.got, p)
	a.mu.Unlock()
	if p.Type == "url_verification" {
		_, _ = io.WriteString(w, p.Challenge) // if the response gets lost, the verification fails
		return
	}
	if a.answer != nil {
		a.answer(n, p, w)
	}
}

func (a *app) requests() []pushed {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.got
}

// startApp serves an app and a stand-in that can reach it.
func startApp(t *testing.T, answer func(n int, p pushed, w http.ResponseWriter)) (*client, *app) {
	t.Helper()
	a := &app{t: t, answer: answer}
	l := memnet.Listen()
	srv := &http.Server{Handler: a, ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	c := start(t, slack.Options{Dial: l.Dial, SigningSecret: "secret"})
	if err := c.server.SetRequestURL(t.Context(), "http://app/slack"); err != nil {
		t.Fatal(err)
	}
	return c, a
}

func TestSignature(t *testing.T) {
	t.Parallel()
	// This request and its signature are the example of
	// https://docs.slack.dev/authentication/verifying-requests-from-slack.
	body := "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	got := slack.Sign("8f742231b10e8888abcd99yyyzzz85a5", "1531420618", []byte(body))
	if want := "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestEventsAPI checks that the stand-in sends events as signed POST requests, and sends an event again if the app does
// not accept it.
func TestEventsAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, a := startApp(t, func(n int, _ pushed, w http.ResponseWriter) {
			switch n {
			case 1:
				w.WriteHeader(http.StatusInternalServerError)
			case 2:
				pause(4 * time.Second)
			}
		})
		ts := c.server.Say(slack.Incoming{Text: "hello"})
		pause(time.Hour)
		got := a.requests()
		if len(got) != 4 || got[0].Type != "url_verification" {
			t.Fatalf("got %d requests, want the check and three attempts", len(got))
		}
		for i, want := range []struct {
			after  time.Duration
			reason string
		}{{0, ""}, {0, "http_error"}, {63 * time.Second, "http_timeout"}} {
			p := got[i+1]
			num := strconv.Itoa(i)
			if i == 0 {
				num = ""
			}
			if p.at-got[1].at != want.after || p.header.Get("X-Slack-Retry-Num") != num || p.header.Get("X-Slack-Retry-Reason") != want.reason || p.Event.TS != ts {
				t.Errorf("attempt %d: got %+v", i, p)
			}
		}
		if d := c.server.Deliveries()[0]; d.Acked.IsZero() || d.Attempts[2].Via != "http" {
			t.Errorf("delivery: got %+v", d)
		}
		if r := c.with(c.server.AppToken(), "apps.connections.open", nil); r.Error != "socket_mode_disabled" {
			t.Errorf("socket: got %s", r.Raw)
		}
	})
}

func TestNoRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, a := startApp(t, func(_ int, _ pushed, w http.ResponseWriter) {
			w.Header().Set("X-Slack-No-Retry", "1")
			w.WriteHeader(http.StatusBadRequest)
		})
		c.server.Say(slack.Incoming{Text: "hello"})
		pause(time.Hour)
		if n := len(a.requests()); n != 2 || !c.server.Deliveries()[0].Lost {
			t.Errorf("got %d requests, want the check and one attempt", n)
		}
	})
}

// Faults make the stand-in sign a request with a wrong secret or an old time. With such forged requests, tests can
// check whether an app verifies signatures.
func TestForgedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, a := startApp(t, nil)
		c.server.Fault(slack.Fault{Method: "event", Nth: 1, Action: slack.ActBadSignature})
		c.server.Fault(slack.Fault{Method: "event", Nth: 2, Action: slack.ActStale})
		for range 3 {
			c.server.Say(slack.Incoming{Text: "hello"})
			synctest.Wait()
		}
		var ages []int64
		for i, p := range a.requests() {
			stamp := p.header.Get("X-Slack-Request-Timestamp")
			if signed := p.header.Get("X-Slack-Signature") == slack.Sign("secret", stamp, p.raw); signed != (i != 1) {
				t.Errorf("request %d: signed with the secret: %v", i, signed)
			}
			at, err := strconv.ParseInt(stamp, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			ages = append(ages, time.Now().Unix()-at)
		}
		if !slices.Equal(ages, []int64{0, 0, 600, 0}) {
			t.Errorf("ages of the signatures: got %v, want 0, 0, 600, 0", ages)
		}
	})
}

func TestChallengeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen()
		srv := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
		done := make(chan error, 1)
		go func() { done <- srv.Serve(l) }()
		c := start(t, slack.Options{Dial: l.Dial})
		if err := c.server.SetRequestURL(context.Background(), "http://app/"); err == nil {
			t.Error("404: got no error")
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		<-done
		if err := c.server.SetRequestURL(context.Background(), "http://app/"); err == nil {
			t.Error("nobody there: got no error")
		}
		c.socket() // the app still uses Socket Mode
	})
}
