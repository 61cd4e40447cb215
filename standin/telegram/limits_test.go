package telegram_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/fault"
	"telex/standin/telegram"
)

// flow makes at most 200 calls, with a pause between them, until one gets a 429. flow returns the number of successful
// calls, and the response with status 429.
func (c *client) flow(gap time.Duration, call func(i int) reply) (passed int, refusal reply) {
	c.t.Helper()
	for i := range 200 {
		r := call(i)
		if r.Status == 429 {
			return i, r
		}
		if !r.OK {
			c.t.Fatalf("call %d: got %s, want ok or 429", i, r.Raw)
		}
		pause(gap)
	}
	return 200, reply{}
}

func TestLimits(t *testing.T) {
	cases := []struct {
		name              string
		published, hidden telegram.Limits
		chats             []int64 // the calls go to these chats in turn
		gap               time.Duration
		edit              bool // every call in a chat after the first is an edit
		passed, retry     int
		violations        int
	}{
		{name: "private burst", chats: []int64{1}, passed: 3, retry: 1, violations: 1},
		{name: "private steady", chats: []int64{1}, gap: time.Second, passed: 200},
		{name: "private slightly too fast", chats: []int64{1}, gap: 900 * time.Millisecond, passed: 21, retry: 1, violations: 1},
		{name: "private edits count", chats: []int64{1}, edit: true, passed: 3, retry: 1, violations: 1},
		{name: "group", chats: []int64{-1}, gap: time.Second, passed: 20, retry: 40, violations: 1},
		{name: "group edits count", chats: []int64{-1}, gap: time.Second, edit: true, passed: 20, retry: 40, violations: 1},
		{name: "supergroup", chats: []int64{-1000000000001}, passed: 20, retry: 60, violations: 1},
		{name: "group steady", chats: []int64{-1}, gap: 3 * time.Second, passed: 200},
		{name: "global", chats: span(1, 40), passed: 30, retry: 1, violations: 1},
		{name: "global steady", chats: span(1, 40), gap: 34 * time.Millisecond, passed: 200},
		{name: "jitter forgiven", chats: span(1, 40), gap: 33 * time.Millisecond, passed: 200},
		{name: "off", published: telegram.NoLimits(), chats: []int64{1}, passed: 200},
		{name: "own group limit", published: telegram.Limits{GroupPerMinute: 5, MinRetryAfter: 90}, chats: []int64{-1}, passed: 5, retry: 90, violations: 1},
		{name: "hidden group limit", hidden: telegram.Limits{GroupPerMinute: 10}, chats: []int64{-1}, gap: 3 * time.Second, passed: 10, retry: 30},
		{name: "hidden private limit", hidden: telegram.Limits{PrivatePerSecond: 0.5}, chats: []int64{1}, gap: time.Second, passed: 1, retry: 1},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t, telegram.Options{Limits: tc.published, Hidden: tc.hidden})
				for _, id := range tc.chats {
					c.server.Say(telegram.Incoming{Chat: id, Text: "x"})
				}
				sent := make(map[string]int)
				passed, refusal := c.flow(tc.gap, func(i int) reply {
					chat := strconv.FormatInt(tc.chats[i%len(tc.chats)], 10)
					if tc.edit && sent[chat] != 0 {
						return c.call("editMessageText", args{"chat_id": chat, "message_id": strconv.Itoa(sent[chat]), "text": strconv.Itoa(i)})
					}
					r := c.call("sendMessage", args{"chat_id": chat, "text": "x"})
					if r.OK {
						sent[chat] = r.message(t)
					}
					return r
				})
				if passed != tc.passed || refusal.Parameters.RetryAfter != tc.retry {
					t.Errorf("got %d calls, then retry after %d, want %d and %d", passed, refusal.Parameters.RetryAfter, tc.passed, tc.retry)
				}
				if v := c.server.Stats().Violations; v.OverLimit != tc.violations || v.Total() != tc.violations {
					t.Errorf("violations: got %+v, want %d", v, tc.violations)
				}
			})
		})
	}
}

func span(from, to int64) []int64 {
	var list []int64
	for id := from; id <= to; id++ {
		list = append(list, id)
	}
	return list
}

// Failures F19 and F23: after a 429, the server must refuse every call in the scope of the 429, and count it as a
// violation, until the wait is over. Calls outside of the scope must succeed.
func TestBlockedWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, telegram.Options{})
		c.server.Say(telegram.Incoming{Chat: 1, Text: "x"})
		c.server.Say(telegram.Incoming{Chat: 2, Text: "x"})
		c.server.Fault(telegram.Fault{Method: "sendMessage", Chat: 1, Nth: 1, Action: fault.RateLimit, RetryAfter: 5})
		send := func(chat string) reply { return c.call("sendMessage", args{"chat_id": chat, "text": "x"}) }
		if r := send("1"); r.Parameters.RetryAfter != 5 {
			t.Fatalf("forced: got %s, want retry after 5", r.Raw)
		}
		if v := c.server.Stats().Violations.Total(); v != 0 {
			t.Errorf("violations after the forced 429: got %d, want 0", v)
		}
		if r := send("2"); !r.OK {
			t.Errorf("another chat: got %s, want ok", r.Raw)
		}
		pause(2500 * time.Millisecond)
		if r := c.call("sendChatAction", args{"chat_id": "1", "action": "typing"}); r.Status != 429 || r.Parameters.RetryAfter != 3 {
			t.Errorf("typing in the window: got %s, want retry after 3", r.Raw)
		}
		pause(2499 * time.Millisecond)
		if r := send("1"); r.Status != 429 || r.Parameters.RetryAfter != 1 {
			t.Errorf("at the window's end: got %s, want retry after 1", r.Raw)
		}
		pause(time.Millisecond)
		if r := send("1"); !r.OK {
			t.Errorf("after the window: got %s, want ok", r.Raw)
		}
		st := c.server.Stats()
		if st.Violations.BlockedCalls != 2 || st.Violations.Total() != 2 || st.Forced != 1 || st.TooManyRequests != 3 {
			t.Errorf("stats: got %+v, want 2 blocked calls, 1 forced of 3 429s", st)
		}
	})
}

func TestSetLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, telegram.Options{})
		c.server.Say(telegram.Incoming{Chat: 1, Text: "x"})
		send := func(int) reply { return c.call("sendMessage", args{"chat_id": "1", "text": "x"}) }
		c.flow(0, send)
		c.server.SetLimits(telegram.NoLimits(), telegram.Limits{})
		if r := send(0); r.Status != 429 {
			t.Errorf("the blocked window: got %s, want it to stay", r.Raw)
		}
		pause(time.Second)
		if passed, _ := c.flow(0, send); passed != 200 {
			t.Errorf("without limits: got %d calls, want all 200", passed)
		}
	})
}
