package discord_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/discord"
	"telex/standin/fault"
)

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		fault  discord.Fault
		status int  // status of the response; 0: the connection was cut
		effect bool // whether the text of the message must change
		answer string
		took   time.Duration
	}{
		{name: "latency", fault: discord.Fault{Action: fault.Latency, Delay: 3 * time.Second}, status: 200, effect: true, took: 3 * time.Second},
		{name: "status", fault: discord.Fault{Action: fault.Status, Status: 502}, status: 502, answer: "<h1>502 Bad Gateway</h1>"},
		{name: "status after effect", fault: discord.Fault{Action: fault.Status, Status: 500, AfterEffect: true}, status: 500, effect: true, answer: "<html>"},
		{name: "API error", fault: discord.Fault{Action: fault.Status, Status: 403, Code: 50001, Description: "Missing Access"}, status: 403, answer: `{"code":50001,"message":"Missing Access"}`},
		{name: "cut before", fault: discord.Fault{Action: fault.CutBefore}},
		{name: "cut after", fault: discord.Fault{Action: fault.CutAfter}, effect: true},
		{name: "delete first", fault: discord.Fault{Action: fault.DeleteFirst}, status: 404, answer: `"code":10008`},
		{name: "not found", fault: discord.Fault{Action: fault.NotFound}, status: 404, answer: `"code":10008`},
		{name: "malformed", fault: discord.Fault{Action: fault.Malformed}, status: 200, effect: true, answer: `{"id":"`},
		{name: "rate limit", fault: discord.Fault{Action: fault.RateLimit, RetryAfter: 1.5, Scope: "shared"}, status: 429, answer: `"retry_after":1.5`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				id := c.send(general, "old").id(t)
				tc.fault.Method, tc.fault.Times = "editMessage", 1
				c.server.Fault(tc.fault)
				began := time.Now()
				r := c.edit(general, id, "new")
				if r.Status != tc.status || !strings.Contains(r.Raw, tc.answer) || time.Since(began) != tc.took {
					t.Errorf("got %d %q after %v, want %d %q after %v", r.Status, r.Raw, time.Since(began), tc.status, tc.answer, tc.took)
				}
				if tc.status == 0 && !errors.Is(r.Err, io.EOF) {
					t.Errorf("error: got %v, want %v", r.Err, io.EOF)
				}
				if effect := c.texts(general) == "new"; effect != tc.effect {
					t.Errorf("effect: got %t, want %t", effect, tc.effect)
				}
				if v := c.server.Stats().Violations; v.Total() != 0 {
					t.Errorf("violations: got %+v", v)
				}
			})
		})
	}
}

func TestFaultChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		dm := c.server.DM("")
		c.server.Fault(discord.Fault{Method: "editMessage | createMessage", Channel: dm, Contains: "hit", Nth: 2, Action: fault.Status, Status: 500})
		for n, tc := range []struct {
			channel, text string
			status        int
		}{{dm, "hit", 200}, {general, "hit", 200}, {dm, "other", 200}, {dm, "hit", 500}, {dm, "hit", 200}} {
			if r := c.send(tc.channel, tc.text); r.Status != tc.status {
				t.Errorf("call %d: got %d, want %d", n, r.Status, tc.status)
			}
		}
		// A fault for a channel must also hit calls that use the token of an interaction in that channel.
		g, _ := c.identify(usual)
		i := c.slash(g, general)
		c.call(http.MethodPost, i.callback(), object{"type": 5})
		c.server.Fault(discord.Fault{Method: "editOwn", Channel: general, Action: fault.DeleteFirst})
		if r := c.call(http.MethodPatch, i.original(), object{"content": "x"}); r.code() != 10008 {
			t.Errorf("edit of the deleted answer: got %d %s", r.Status, r.Raw)
		}
	})
}

// A fault responds to a call with 429. Until retry_after is over, the stand-in must refuse further calls in the scope
// of this 429, and count them as violations.
func TestRateLimitFault(t *testing.T) {
	for _, scope := range []string{"user", "global"} {
		synctest.Test(t, func(t *testing.T) {
			c := free(t)
			c.server.Fault(discord.Fault{Method: "createMessage", Times: 1, Action: fault.RateLimit, RetryAfter: 2, Scope: scope})
			if l := c.send(general, "x").limited(t); l.RetryAfter != 2 || l.Global != (scope == "global") {
				t.Errorf("%s: got %+v", scope, l)
			}
			pause(time.Second)
			if got := c.call(http.MethodGet, "/users/@me", nil).Status; (got == 429) != (scope == "global") {
				t.Errorf("%s, another call: got %d", scope, got)
			}
			c.send(general, "x").limited(t)
			pause(time.Second)
			c.send(general, "x").id(t)
			if st := c.server.Stats(); st.Forced != 1 || st.Violations.BlockedCalls == 0 || st.Violations.OverLimit != 0 {
				t.Errorf("%s: stats %+v", scope, st)
			}
		})
	}
}

// TestHeldCalls holds a call and then ends it at that point, as if the client had been killed.
func TestHeldCalls(t *testing.T) {
	for _, tc := range []struct {
		action, stage string
		drop          bool
		effect        bool // whether the call must have an effect after its release
		answered      bool
	}{
		{fault.PauseBefore, "before", false, true, true},
		{fault.PauseBefore, "before", true, false, false},
		{fault.PauseAfter, "after", false, true, true},
		{fault.PauseAfter, "after", true, true, false},
		{fault.PauseAnswered, "answered", false, true, true},
		{fault.PauseAnswered, "answered", true, true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := free(t)
			c.server.Fault(discord.Fault{Method: "createMessage", Times: 1, Action: tc.action})
			done := make(chan reply, 1)
			go func() { done <- c.send(general, "fresh") }()
			synctest.Wait()
			held := c.server.Paused()
			if len(held) != 1 || held[0].Stage != tc.stage || (c.texts(general) == "fresh") != (tc.stage != "before") {
				t.Fatalf("%s: held are %+v, screen %q", tc.action, held, c.texts(general))
			}
			release := c.server.Resume
			if tc.drop {
				release = c.server.Drop
			}
			if n := release(held[0].ID); n != 1 {
				t.Errorf("%s, drop %t: let go of %d calls, want 1", tc.action, tc.drop, n)
			}
			if r := <-done; (r.Status == 200) != tc.answered {
				t.Errorf("%s, drop %t: got %d %s (%v), want an answer: %t", tc.action, tc.drop, r.Status, r.Raw, r.Err, tc.answered)
			}
			if (c.texts(general) == "fresh") != tc.effect {
				t.Errorf("%s, drop %t: screen %q, want effect %t", tc.action, tc.drop, c.texts(general), tc.effect)
			}
		})
	}
}

func TestFaultDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		seen := ""
		c.server.Fault(discord.Fault{Method: "createMessage", Action: fault.PauseAfter, Do: func(call discord.Call) {
			seen = c.texts(call.Channel)
		}})
		c.send(general, "x").id(t)
		if seen != "x" {
			t.Errorf("at the moment of the pause: got %q", seen)
		}
	})
}

func TestOutages(t *testing.T) {
	for _, tc := range []struct {
		kind   string
		status int
	}{{fault.OutageRefuse, 0}, {fault.OutageCut, 0}, {fault.OutageError, 502}, {fault.OutageHang, 0}} {
		t.Run(tc.kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				g, session := c.identify(usual)
				c.server.Outage(fault.Outage{Kind: tc.kind, For: 10 * time.Second})
				if _, err := g.next(); err == nil {
					t.Error("gateway: want a cut connection")
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				body := object{"content": "x"}
				if r := c.callContext(ctx, http.MethodPost, "/channels/"+general+"/messages", body); r.Status != tc.status || (tc.status == 0) != (r.Err != nil) {
					t.Errorf("during it: got %d %s (%v), want %d", r.Status, r.Raw, r.Err, tc.status)
				}
				c.say(discord.Incoming{Text: "meanwhile"})
				pause(10 * time.Second)
				c.send(general, "after").id(t)
				if got := c.texts(general); got != "after" {
					t.Errorf("screen: got %q", got)
				}
				h := c.resume(session, g.seq)
				h.expect("MESSAGE_CREATE")
				h.expect("MESSAGE_CREATE")
				h.expect("RESUMED")
			})
		})
	}
}

// The client closes its connection before the response arrives. The stand-in must execute the request although the
// client is gone.
func TestClientGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, discord.Options{Latency: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if r := c.callContext(ctx, http.MethodPost, "/channels/"+general+"/messages", object{"content": "x"}); r.Err == nil {
			t.Errorf("got %s, want a timeout", r.Raw)
		}
		pause(time.Second)
		if got := c.texts(general); got != "x" {
			t.Errorf("screen: got %q", got)
		}
	})
}
