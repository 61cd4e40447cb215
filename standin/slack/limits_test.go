package slack_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/slack"
)

// TestTiers checks that the limit of a method applies to the whole workspace, and not to each channel.
func TestTiers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{})
		var own []string
		for _, ch := range []string{"D1", "C2"} {
			c.server.Say(slack.Incoming{Channel: ch, Text: "x"})
			own = append(own, c.ok("chat.postMessage", args{"channel": ch, "text": "x"}).TS)
		}
		edit := func(i int) reply {
			return c.call("chat.update", args{"channel": []string{"D1", "C2"}[i%2], "ts": own[i%2], "text": "y"})
		}
		for i := range 50 {
			if r := edit(i); !r.OK {
				t.Fatalf("edit %d: got %s", i, r.Raw)
			}
			pause(time.Second)
		}
		r := edit(0)
		if r.Status != http.StatusTooManyRequests || r.Error != "ratelimited" || r.Header.Get("Retry-After") != "10" {
			t.Errorf("edit 51: got %d %s, Retry-After %q, want 10", r.Status, r.Raw, r.Header.Get("Retry-After"))
		}
		c.ok("conversations.history", args{"channel": "C2"}) // each method has its own limit
		pause(9 * time.Second)
		if r := edit(1); r.Status != 429 || r.Header.Get("Retry-After") != "1" {
			t.Errorf("too early: got %d %s", r.Status, r.Raw)
		}
		pause(time.Second)
		if r := edit(0); !r.OK {
			t.Errorf("in time: got %s", r.Raw)
		}
		st := c.server.Stats()
		if st.Violations.ByKind[slack.OverLimit] != 1 || st.Violations.ByKind[slack.BlockedCall] != 1 || st.TooManyRequests != 2 || st.Scopes["chat.update"].Counted != 51 {
			t.Errorf("stats: got %+v", st)
		}
	})
}

// A channel accepts a burst of three messages, and then one message per second. In addition to the limits of channels,
// the whole workspace has a limit per minute.
func TestPostLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{Limits: slack.Limits{PostPerMinute: 6}})
		post := func(channel string) int {
			c.server.Say(slack.Incoming{Channel: channel, Text: "x"})
			return c.call("chat.postMessage", args{"channel": channel, "text": "x"}).Status
		}
		for i, want := range []int{200, 200, 200, 429} {
			if got := post("D1"); got != want {
				t.Errorf("post %d: got %d, want %d", i, got, want)
			}
		}
		if got := post("D2"); got != 200 {
			t.Errorf("another channel: got %d, want 200", got)
		}
		pause(time.Second)
		if got := post("D1"); got != 200 {
			t.Errorf("a second later: got %d, want 200", got)
		}
		if got := post("D3"); got != 429 {
			t.Errorf("seventh in the workspace: got %d, want 429", got)
		}
	})
}

func TestHiddenAndSingleLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{Limits: slack.NoLimits(), Hidden: slack.Limits{Tier3: 2, Methods: map[string]int{"apps.connections.open": 1}}})
		c.server.Say(slack.Incoming{Text: "x"})
		for i, want := range []int{200, 200, 429} {
			if got := c.call("conversations.info", args{"channel": direct}).Status; got != want {
				t.Errorf("call %d: got %d, want %d", i, got, want)
			}
		}
		c.url()
		if r := c.with(c.server.AppToken(), "apps.connections.open", nil); r.Status != 429 || r.Header.Get("Retry-After") != "60" {
			t.Errorf("second socket: got %d %s", r.Status, r.Raw)
		}
		if got := c.server.Stats().Violations.Total(); got != 0 {
			t.Errorf("violations: got %d, want none for hidden limits", got)
		}
		c.server.SetLimits(slack.NoLimits(), slack.Limits{})
		c.ok("conversations.info", args{"channel": direct})
	})
}
