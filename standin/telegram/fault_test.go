package telegram_test

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/fault"
	"telex/standin/telegram"
)

func TestFaults(t *testing.T) {
	cases := []struct {
		name    string
		fault   telegram.Fault
		status  int  // status of the response; 0: the connection was cut
		effect  bool // whether the text must change
		answer  string
		took    time.Duration
		invalid bool // whether the response must be invalid JSON
	}{
		{name: "latency", fault: telegram.Fault{Action: fault.Latency, Delay: 3 * time.Second}, status: 200, effect: true, took: 3 * time.Second},
		{name: "status", fault: telegram.Fault{Action: fault.Status, Status: 502}, status: 502, answer: "<h1>502 Bad Gateway</h1>"},
		{name: "status after effect", fault: telegram.Fault{Action: fault.Status, Status: 500, AfterEffect: true}, status: 500, effect: true, answer: "<html>"},
		{name: "API error", fault: telegram.Fault{Action: fault.Status, Status: 403, Description: "Forbidden: go"}, status: 403, answer: `"description":"Forbidden: go"`},
		{name: "cut before", fault: telegram.Fault{Action: fault.CutBefore}},
		{name: "cut after", fault: telegram.Fault{Action: fault.CutAfter}, effect: true},
		{name: "delete first", fault: telegram.Fault{Action: fault.DeleteFirst}, status: 400, answer: "message to edit not found"},
		{name: "not found", fault: telegram.Fault{Action: fault.NotFound}, status: 400, answer: "message to edit not found"},
		{name: "malformed", fault: telegram.Fault{Action: fault.Malformed}, status: 200, effect: true, answer: `{"ok":true`, invalid: true},
		{name: "no message id F57", fault: telegram.Fault{Action: telegram.ActNoMessageID}, status: 200, effect: true, answer: `"result":{"chat"`},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				id := c.call("sendMessage", args{"chat_id": "1001", "text": "old"}).message(t)
				tc.fault.Method = "editMessageText"
				c.server.Fault(tc.fault)
				began := time.Now()
				r := c.call("editMessageText", args{"chat_id": "1001", "message_id": strconv.Itoa(id), "text": "new"})
				if r.Status != tc.status || !strings.Contains(r.Raw, tc.answer) || time.Since(began) != tc.took {
					t.Errorf("got %d %q after %v, want %d %q after %v", r.Status, r.Raw, time.Since(began), tc.status, tc.answer, tc.took)
				}
				if tc.status == 0 && !errors.Is(r.Err, io.EOF) {
					t.Errorf("error: got %v, want %v", r.Err, io.EOF)
				}
				if tc.invalid != (r.Err != nil && r.Status == 200) {
					t.Errorf("decoding: got %v, want an error: %v", r.Err, tc.invalid)
				}
				list := c.server.History(person)
				if got := list[len(list)-1].Text() == "new"; got != tc.effect {
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

func TestFaultChoice(t *testing.T) {
	t.Parallel()
	fail := telegram.Fault{Action: fault.Status, Status: 500}
	with := func(change func(*telegram.Fault)) telegram.Fault {
		f := fail
		change(&f)
		return f
	}
	cases := []struct {
		name  string
		fault telegram.Fault
		want  string // a character for each of eight calls: "x" if the fault hits the call
	}{
		{"all", fail, "xxxxxxxx"},
		{"nth", with(func(f *telegram.Fault) { f.Nth = 3 }), "..x....."},
		{"every", with(func(f *telegram.Fault) { f.Every = 3 }), "..x..x.."},
		{"times", with(func(f *telegram.Fault) { f.Times = 2 }), "xx......"},
		{"every, times", with(func(f *telegram.Fault) { f.Every, f.Times = 2, 2 }), ".x.x...."},
		{"method", with(func(f *telegram.Fault) { f.Method = "getMe|sendmessage" }), "xxxxxxxx"},
		{"other method", with(func(f *telegram.Fault) { f.Method = "getMe" }), "........"},
		{"other chat", with(func(f *telegram.Fault) { f.Chat = 5 }), "........"},
		{"contains", with(func(f *telegram.Fault) { f.Contains = "6" }), "......x."},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := free(t)
			c.server.Fault(tc.fault)
			got := ""
			for i := range 8 {
				mark := "."
				if r := c.call("sendMessage", args{"chat_id": "1001", "text": "n" + strconv.Itoa(i)}); r.Status == 500 {
					mark = "x"
				}
				got += mark
			}
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			c.server.ClearFaults()
			if r := c.call("getMe", nil); !r.OK {
				t.Errorf("after ClearFaults: got %s, want ok", r.Raw)
			}
		})
	}
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
				c.server.Fault(telegram.Fault{Method: "sendMessage", Nth: 1, Action: tc.action})
				answer := make(chan reply, 1)
				go func() { answer <- c.call("sendMessage", args{"chat_id": "1001", "text": "x"}) }()
				synctest.Wait()
				held := c.server.Paused()
				if len(held) != 1 || held[0].Stage != tc.stage || held[0].Call.Method != "sendMessage" {
					t.Fatalf("paused: got %+v, want the call at stage %s", held, tc.stage)
				}
				if got := len(c.server.History(person)) == 2; got != tc.effect {
					t.Errorf("effect: got %v, want %v", got, tc.effect)
				}
				if got := len(answer) == 1; got != tc.answered {
					t.Errorf("answered: got %v, want %v", got, tc.answered)
				}
				if n := c.server.Resume(held[0].ID); n != 1 {
					t.Errorf("Resume: got %d, want 1", n)
				}
				if r := <-answer; !r.OK {
					t.Errorf("after Resume: got %s (%v), want ok", r.Raw, r.Err)
				}
			})
		})
	}
}

func TestPauseCallback(t *testing.T) {
	t.Parallel()
	c := free(t)
	seen := -1
	c.server.Fault(telegram.Fault{Method: "sendMessage", Action: fault.PauseAfter, Do: func(telegram.Call) {
		seen = len(c.server.History(person))
	}})
	c.call("sendMessage", args{"chat_id": "1001", "text": "x"}).message(t)
	if seen != 2 {
		t.Errorf("messages at the callback: got %d, want 2", seen)
	}
}

func TestHangAndRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		c.server.Fault(telegram.Fault{Method: "sendMessage", Action: fault.Hang})
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		if r := c.callContext(ctx, "sendMessage", args{"chat_id": "1001", "text": "x"}); !errors.Is(r.Err, context.DeadlineExceeded) {
			t.Errorf("hang: got %v, want %v", r.Err, context.DeadlineExceeded)
		}
		results := make(chan reply, 2)
		go func() { results <- c.call("sendMessage", args{"chat_id": "1001", "text": "x"}) }()
		go func() {
			results <- c.call("getUpdates", args{"timeout": "50", "offset": "-1", "allowed_updates": `["x"]`})
		}()
		synctest.Wait()
		c.server.Restart(2 * time.Second)
		cut := 0
		for range 2 {
			if r := <-results; r.Err != nil {
				cut++
			}
		}
		if cut == 0 {
			t.Error("restart: got no cut connection")
		}
		if r := c.call("getMe", nil); r.Err == nil {
			t.Errorf("while down: got %s, want a cut connection", r.Raw)
		}
		pause(2 * time.Second)
		if r := c.call("getMe", nil); !r.OK {
			t.Errorf("after the restart: got %s (%v), want ok", r.Raw, r.Err)
		}
		if got := len(c.server.History(person)); got != 1 {
			t.Errorf("messages: got %d, want only the person's", got)
		}
		c.server.Reset()
		if got := len(c.server.Chats()); got != 0 {
			t.Errorf("chats after Reset: got %d, want 0", got)
		}
	})
}

// Failure F13: the client does not wait for the response. The stand-in must execute the request although the client is
// gone.
func TestClientGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, telegram.Options{Latency: time.Second})
		c.server.Say(telegram.Incoming{Chat: person, Text: "hello"})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if r := c.callContext(ctx, "sendMessage", args{"chat_id": "1001", "text": "x"}); r.Err == nil {
			t.Errorf("got %s, want a timeout", r.Raw)
		}
		pause(time.Second)
		if got := len(c.server.History(person)); got != 2 {
			t.Errorf("messages: got %d, want 2", got)
		}
	})
}
