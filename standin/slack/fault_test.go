package slack_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/fault"
	"telex/standin/slack"
)

func TestFaults(t *testing.T) {
	cases := []struct {
		name   string
		fault  slack.Fault
		status int  // status of the response; 0: the connection was cut
		effect bool // whether the text must change
		answer string
		took   time.Duration
	}{
		{name: "latency", fault: slack.Fault{Action: fault.Latency, Delay: 3 * time.Second}, status: 200, effect: true, took: 3 * time.Second},
		{name: "rate limit", fault: slack.Fault{Action: fault.RateLimit, RetryAfter: 7}, status: 429, answer: "ratelimited"},
		{name: "status", fault: slack.Fault{Action: fault.Status, Status: 502}, status: 502, answer: "<h1>502 Bad Gateway</h1>"},
		{name: "status after effect", fault: slack.Fault{Action: fault.Status, Status: 500, AfterEffect: true}, status: 500, effect: true, answer: "<html>"},
		{name: "error", fault: slack.Fault{Action: fault.Error, Error: "internal_error"}, status: 200, answer: `"error":"internal_error"`},
		{name: "error after effect", fault: slack.Fault{Action: fault.Error, Error: "fatal_error", AfterEffect: true}, status: 200, effect: true, answer: `"error":"fatal_error"`},
		{name: "cut before", fault: slack.Fault{Action: fault.CutBefore}},
		{name: "cut after", fault: slack.Fault{Action: fault.CutAfter}, effect: true},
		{name: "delete first", fault: slack.Fault{Action: fault.DeleteFirst}, status: 200, answer: "message_not_found"},
		{name: "malformed", fault: slack.Fault{Action: fault.Malformed}, status: 200, effect: true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				c.server.Say(slack.Incoming{Text: "hi"})
				ts := c.ok("chat.postMessage", args{"channel": direct, "text": "old"}).TS
				tc.fault.Method = "chat.update"
				c.server.Fault(tc.fault)
				began := time.Now()
				r := c.call("chat.update", args{"channel": direct, "ts": ts, "text": "new"})
				if r.Status != tc.status || !strings.Contains(r.Raw, tc.answer) || time.Since(began) != tc.took {
					t.Errorf("got %d %q after %v, want %d %q after %v", r.Status, r.Raw, time.Since(began), tc.status, tc.answer, tc.took)
				}
				if tc.status == 0 && !errors.Is(r.Err, io.EOF) {
					t.Errorf("error: got %v, want %v", r.Err, io.EOF)
				}
				list := c.server.History(direct)
				if got := list[len(list)-1].Shown() == "new"; got != tc.effect {
					t.Errorf("effect: got %v, want %v", got, tc.effect)
				}
				calls := c.server.Calls()
				if got := calls[len(calls)-1]; got.Fault != tc.fault.Action || got.Status != tc.status || got.Effect != tc.effect || got.Done.IsZero() {
					t.Errorf("record: got %+v", got)
				}
			})
		})
	}
}

func TestForcedLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		for _, ch := range []string{"D1", "D2"} {
			c.server.Say(slack.Incoming{Channel: ch, Text: "hi"})
		}
		c.server.Fault(slack.Fault{Method: "chat.postMessage", Nth: 1, Action: fault.RateLimit, RetryAfter: 5})
		post := func(ch string) int { return c.call("chat.postMessage", args{"channel": ch, "text": "x"}).Status }
		if got := []int{post("D1"), post("D1"), post("D2")}; got[0] != 429 || got[1] != 429 || got[2] != 200 {
			t.Errorf("got %v, want the channel closed and the other one open", got)
		}
		pause(5 * time.Second)
		if got := post("D1"); got != 200 {
			t.Errorf("afterwards: got %d, want 200", got)
		}
		if st := c.server.Stats(); st.Forced != 1 || st.Violations.ByKind[slack.BlockedCall] != 1 {
			t.Errorf("stats: got %+v", st)
		}
	})
}

// TestPauses holds calls at each moment at which a test may kill a client.
func TestPauses(t *testing.T) {
	for _, tc := range []struct {
		action, stage    string
		effect, answered bool
	}{
		{fault.PauseBefore, "before", false, false},
		{fault.PauseAfter, "after", true, false},
		{fault.PauseAnswered, "answered", true, true},
	} {
		t.Run(tc.stage, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				c.server.Say(slack.Incoming{Text: "hi"})
				c.server.Fault(slack.Fault{Method: "chat.postMessage", Times: 1, Action: tc.action})
				got := make(chan reply, 1)
				go func() { got <- c.call("chat.postMessage", args{"channel": direct, "text": "x"}) }()
				synctest.Wait()
				held := c.server.Paused()
				if len(held) != 1 || held[0].Stage != tc.stage || held[0].Call.Effect != tc.effect || len(got) == 1 != tc.answered {
					t.Errorf("held: got %+v, answered %v", held, len(got) == 1)
				}
				if n := c.server.Drop(0); n != 1 {
					t.Errorf("dropped: got %d, want 1", n)
				}
				if r := <-got; r.OK != tc.answered {
					t.Errorf("answer: got %+v", r)
				}
				if n := len(c.server.History(direct)); (n == 2) != tc.effect {
					t.Errorf("effect: got %d messages", n)
				}
				var seen slack.Call
				c.server.Fault(slack.Fault{Method: "chat.postMessage", Times: 1, Action: tc.action, Do: func(call slack.Call) { seen = call }})
				c.ok("chat.postMessage", args{"channel": direct, "text": "y"})
				synctest.Wait()
				if seen.Effect != tc.effect || seen.Method == "" {
					t.Errorf("Do: got %+v", seen)
				}
			})
		})
	}
}

func TestOutages(t *testing.T) {
	for _, kind := range []string{fault.OutageRefuse, fault.OutageCut, fault.OutageError, fault.OutageHang} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				k := c.socket()
				c.server.Say(slack.Incoming{Text: "hi"})
				k.take()
				c.server.Outage(fault.Outage{Kind: kind, For: 10 * time.Second})
				if e := k.next(); e.Type != "" {
					t.Errorf("socket: got %+v, want it cut", e)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
				defer cancel()
				r := c.post(ctx, c.server.BotToken(), "/api/chat.postMessage", "application/x-www-form-urlencoded", "channel=D1001&text=x")
				if r.OK || (kind == fault.OutageError) != (r.Status == 502) || (kind == fault.OutageHang) != errors.Is(r.Err, context.DeadlineExceeded) {
					t.Errorf("during the outage: got %d %s %v", r.Status, r.Raw, r.Err)
				}
				pause(10 * time.Second)
				c.ok("chat.postMessage", args{"channel": direct, "text": "x"})
				c.socket()
				if n := len(c.server.History(direct)); n != 2 {
					t.Errorf("messages: got %d, want 2", n)
				}
			})
		})
	}
}

func TestLatencyAndRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{Latency: 200 * time.Millisecond})
		c.server.Say(slack.Incoming{Text: "hi"})
		began := time.Now()
		c.ok("chat.postMessage", args{"channel": direct, "text": "x"})
		if took := time.Since(began); took != 200*time.Millisecond {
			t.Errorf("took %v, want 200ms", took)
		}
		got := make(chan reply, 1)
		go func() { got <- c.call("chat.postMessage", args{"channel": direct, "text": "y"}) }()
		pause(150 * time.Millisecond)
		c.server.Restart(time.Second)
		if r := <-got; r.Err == nil {
			t.Errorf("in flight: got %+v, want it cut", r)
		}
		if r := c.call("auth.test", nil); r.Err == nil {
			t.Errorf("while down: got %+v, want an error", r)
		}
		pause(time.Second)
		c.ok("auth.test", nil)
		if n := len(c.server.History(direct)); n != 3 {
			t.Errorf("messages: got %d, want the one in flight too", n)
		}
		c.server.Say(slack.Incoming{Text: "never delivered"})
		c.server.Reset()
		pause(10 * time.Minute)
		if st := c.server.Stats(); st.Pending != 0 || st.Deliveries != 0 {
			t.Errorf("after Reset: got %+v", st)
		}
		if n := len(c.server.Channels()) + len(c.server.Calls()) + len(c.server.Deliveries()); n != 0 {
			t.Errorf("after Reset: got %d things, want none", n)
		}
	})
}

func TestBadFaults(t *testing.T) {
	t.Parallel()
	s := slack.New(slack.Options{})
	for _, f := range []slack.Fault{
		{Action: "fly"},
		{Action: slack.ActDrop},
		{Action: fault.CutAfter, Method: "event"},
		{Action: fault.Error},
		{Action: fault.Status, Status: 200},
		{Action: fault.Hang, Nth: -1},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v: got no panic", f)
				}
			}()
			s.Fault(f)
		}()
	}
}
