package discord_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/discord"
)

// limited has the fields of a 429.
type limited struct {
	Message    string  `json:"message"`
	RetryAfter float64 `json:"retry_after"`
	Global     bool    `json:"global"`
	Code       int     `json:"code"`
}

func (r reply) limited(t *testing.T) limited {
	t.Helper()
	var l limited
	if err := json.Unmarshal([]byte(r.Raw), &l); err != nil || r.Status != 429 {
		t.Fatalf("got %d %s (%v), want a 429", r.Status, r.Raw, err)
	}
	return l
}

func TestMessageBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, discord.Options{})
		id := ""
		for n := range 5 { // sends and edits must count against the same bucket
			var r reply
			if n == 0 {
				r = c.send(general, "x")
				id = r.id(t)
			} else {
				r = c.edit(general, id, "x")
			}
			if got, want := r.Header.Get("X-RateLimit-Remaining"), string('4'-rune(n)); got != want || r.Header.Get("X-RateLimit-Limit") != "5" || r.Header.Get("X-RateLimit-Bucket") == "" {
				t.Errorf("call %d: remaining %s, want %s; headers %v", n, got, want, r.Header)
			}
			pause(500 * time.Millisecond)
		}
		r := c.edit(general, id, "y")
		if l := r.limited(t); l.RetryAfter != 2.5 || l.Global || l.Message != "You are being rate limited." {
			t.Errorf("body: got %+v", l)
		}
		if h := r.Header; h.Get("Retry-After") != "3" || h.Get("X-RateLimit-Scope") != "user" || h.Get("X-RateLimit-Reset-After") != "2.500" || h.Get("X-RateLimit-Global") != "" {
			t.Errorf("headers: got %v", h)
		}
		pause(time.Second)
		if l := c.send(general, "y").limited(t); l.RetryAfter != 1.5 {
			t.Errorf("too early again: got %+v", l)
		}
		if r := c.send(c.server.DM(""), "elsewhere"); r.Status != 200 {
			t.Errorf("another channel: got %d %s", r.Status, r.Raw)
		}
		pause(1500 * time.Millisecond)
		if r := c.edit(general, id, "y"); r.Status != 200 || r.Header.Get("X-RateLimit-Remaining") != "4" {
			t.Errorf("after retry_after: got %d %s", r.Status, r.Raw)
		}
		if v := c.server.Stats().Violations; v.OverLimit != 1 || v.BlockedCalls != 1 {
			t.Errorf("violations: got %+v", v)
		}
	})
}

func TestGlobalLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := discord.NoLimits()
		limits.Global = 3
		c := start(t, discord.Options{Limits: limits})
		for range 3 {
			c.send(general, "x").id(t)
		}
		r := c.call(http.MethodGet, "/users/@me", nil)
		if l := r.limited(t); !l.Global || l.RetryAfter != 1 || r.Header.Get("X-RateLimit-Global") != "true" || r.Header.Get("X-RateLimit-Scope") != "global" {
			t.Errorf("got %+v, %v", l, r.Header)
		}
		if r := c.call(http.MethodPost, "/interactions/1/x/callback", object{"type": 4}); r.code() != 10062 {
			t.Errorf("interactions are exempt: got %d %s", r.Status, r.Raw)
		}
	})
}

// The hidden limit is lower than the published limit. The test checks that the hidden limit applies, although the
// headers of the response contain the published limit.
func TestHiddenLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, discord.Options{Hidden: discord.Limits{Messages: 2}})
		c.send(general, "x").id(t)
		c.send(general, "x").id(t)
		r := c.send(general, "x")
		if l := r.limited(t); l.Message != "The resource is being rate limited." || r.Header.Get("X-RateLimit-Scope") != "shared" || r.Header.Get("X-RateLimit-Remaining") != "3" {
			t.Errorf("got %+v, %v", l, r.Header)
		}
		if st := c.server.Stats(); st.Violations.Total() != 0 || st.InvalidRequests != 0 || st.TooManyRequests != 1 {
			t.Errorf("stats: got %+v, want no violation", st)
		}
	})
}

func TestOldEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, discord.Options{Limits: discord.Limits{OldEdits: 2, Messages: -1}})
		id := c.send(general, "x").id(t)
		pause(time.Hour + time.Second)
		c.edit(general, id, "1").id(t)
		c.edit(general, id, "2").id(t)
		if l := c.edit(general, id, "3").limited(t); l.Code != 30046 || l.RetryAfter < 3500 {
			t.Errorf("got %+v, want 30046", l)
		}
		fresh := c.send(general, "y").id(t)
		c.edit(general, fresh, "z").id(t)
	})
}

func TestInvalidRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := discord.NoLimits()
		limits.Invalid = 3
		c := start(t, discord.Options{Limits: limits})
		foreign := c.say(discord.Incoming{Channel: general, Text: "x"})
		for range 3 {
			c.edit(general, foreign, "x")
		}
		if r := c.send(general, "x"); r.Status != 429 || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") || r.Header.Get("Retry-After") != "600" {
			t.Errorf("got %d %q %v, want what stands in front of the API", r.Status, r.Raw, r.Header)
		}
		pause(10 * time.Minute)
		c.send(general, "x").id(t)
	})
}

func TestSetLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, discord.Options{})
		c.send(general, "x").id(t)
		c.server.SetLimits(discord.Limits{Messages: 1}, discord.Limits{})
		c.send(general, "x").id(t)
		c.send(general, "x").limited(t)
		c.server.SetLimits(discord.NoLimits(), discord.Limits{})
		if l := c.send(general, "x").limited(t); l.RetryAfter != 5 {
			t.Errorf("got %+v: a bucket that is closed stays so", l)
		}
		pause(5 * time.Second)
		c.send(general, "x").id(t)
	})
}
